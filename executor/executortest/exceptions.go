package executortest

import (
	"slices"
	"strings"
	"testing"
)

// MaxExceptions is how many cases a backend may leave out.
const MaxExceptions = 10

// ExtensionExceptions are the exceptions of executor/extension: cases that
// pages in a user's own Chrome cannot pass, and why.
var ExtensionExceptions = map[string]string{
	"emulation/language, time and processor":          "in the user's own Chrome other tabs may share the page's process, and would have them too: the call says so",
	"native_dialogs/a document that needs a password": "Chrome asks its user for the password",
	"requests/bodies":  "the extension returns no response bodies: it cannot determine the site of each, and the call says so",
	"eval/huge values": "a value of more than 64 MiB is an error: what the extension hands over is not cut on the way",
	"travel_popups/a window that a sandbox blocks is not waited for":    "the extension reports a new tab after the page goes on, so the call waits a second for it",
	"travel_downloads/names that are made to deceive are made harmless": "Chrome itself names the files that pages download, and puts them where its user wants downloads",
}

// checkExceptions fails the test when there are too many exceptions, or one of
// what is no case.
func checkExceptions(t *testing.T, exceptions map[string]string) {
	t.Helper()
	if len(exceptions) > MaxExceptions {
		t.Errorf("%d exceptions, at most %d are allowed", len(exceptions), MaxExceptions)
	}
	cases := Behaviours()
	for name, why := range exceptions {
		if why == "" {
			t.Errorf("the exception %s has no reason", name)
		}
		if !slices.ContainsFunc(cases, func(b Behaviour) bool { return b.Topic+"/"+b.Case == name }) {
			t.Errorf("the exception %s is of no case", name)
		}
	}
}

// topicOf returns the name of the topic that a case is run in.
func (s *suite) topicOf(t *testing.T) string {
	_, rest, _ := strings.Cut(t.Name(), "backend="+s.h.Name)
	_, rest, _ = strings.Cut(rest, "/") // what tells runs of one name apart
	topic, _, _ := strings.Cut(rest, "/")
	return topic
}
