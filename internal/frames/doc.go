// Package frames tracks the frames of a page, in any renderer process, and calls page scripts in
// their documents.
//
// A [Tree] is what the browser has reported about the frames of one page target: which there are,
// what they are navigating to, and in which execution contexts scripts run. Its owner passes it the
// events of the target, in order. A [Document] is one document of a frame. Calls on it run in that
// document or fail, so that what was decided about a document, such as by an executor.Gate, never
// applies to the next one.
package frames
