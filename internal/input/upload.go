package input

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/deadline"
	"github.com/chrome-mcp/chrome-mcp/internal/elements"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
	"github.com/chrome-mcp/chrome-mcp/internal/upload"
)

// uploadChunk is the number of bytes of a file that are sent to the page at a time: a fraction of
// the send queue of the extension.
const uploadChunk = 512 << 10

// A fileInput is what js/upload.js returns for a file input.
type fileInput struct {
	ID        int    `json:"id"`
	Multiple  bool   `json:"multiple"`
	Directory bool   `json:"directory"`
	Accept    string `json:"accept"`
	Disabled  bool   `json:"disabled"`
	doc       *frames.Document
	chooser   bool // the page opened a file chooser for it, which may be one that is not in the document
}

// A fileUpload is the state of one call of [Actor.Upload].
type fileUpload struct {
	actor *Actor
	el    *element // the target
	files []upload.File
}

// Upload passes files to a file input: the target, the input that the target labels, or the one for
// which a click on the target opens a file chooser. If the target listens for drops, or a click on
// it opens no file chooser, Upload drops the files on it.
//
// Upload uses neither DOM.setFileInputFiles nor Input.dispatchDragEvent. With them, the browser
// would open the files by name, when they may have been replaced, and the extension would need a
// setting that only the user can change. Upload sends the content instead.
func (a *Actor) Upload(ctx context.Context, target executor.Target, files []upload.File, opts *executor.ActionOptions) (*executor.Upload, error) {
	res := &executor.Upload{}
	for _, f := range files {
		res.Files = append(res.Files, f.UploadedFile)
	}
	var err error
	res.Changes, err = a.act(ctx, target, actOptions{timeout: cmp.Or(opts, new(executor.ActionOptions)).Timeout}, func(ctx context.Context, el *element) (string, error) {
		return (&fileUpload{a, el, files}).run(ctx)
	})
	if err != nil {
		return nil, err
	}
	return res, nil
}

func (u *fileUpload) run(ctx context.Context) (note string, err error) {
	a, el := u.actor, u.el
	if err := a.client.CheckFrame(ctx, el.Doc.Frame, executor.OpUpload, ""); err != nil {
		return "", err
	}
	var in *fileInput
	if err := a.finder.Call(ctx, el.Element, &in, "fileInput", el.ID); errors.Is(err, frames.ErrDocumentGone) {
		return "", a.finder.RemovedBeforeActionError(ctx, el.Element)
	} else if err != nil {
		return "", err
	}
	if in != nil {
		in.doc = el.Doc
		return "", u.setInputFiles(deadline.Caller(ctx), in)
	}
	if elements.ListensFor(ctx, el.Doc, el.ID, "drop") {
		return u.drop(ctx)
	}
	effects := el.effects
	in, release, err := u.openFileChooser(ctx)
	if errors.Is(err, errNoFileChooser) {
		return u.dropAfterClick(ctx, err)
	}
	if err != nil {
		return "", err
	}
	defer release()
	if err := u.setInputFiles(deadline.Caller(ctx), in); err != nil {
		return "", err
	}
	effects.Choosers = a.opts.FileChoosers.Count() // the page's request is answered
	return "", nil
}

// accepts returns an error if the input does not accept files.
func (in *fileInput) accepts(files []upload.File) error {
	switch {
	case in.Disabled:
		return executor.Errorf(executor.ErrNotActionable, "Another field may have to be filled in first.", "the file input is disabled")
	case in.Directory:
		return executor.Errorf(executor.ErrBadArgs, "Ask the user to choose it in the page.", "the file input accepts directories only; no files were set")
	case len(files) > 1 && !in.Multiple:
		return executor.Errorf(executor.ErrBadArgs, "Pass one path.", "the file input accepts one file, not %d; no files were set", len(files))
	}
	for _, f := range files {
		if !upload.Accepts(in.Accept, f) {
			return executor.Errorf(executor.ErrBadArgs, "Pass a file that it accepts.", "the file input does not accept %q, only %q; no files were set", f.Name, pagetext.FirstLine(in.Accept))
		}
	}
	return nil
}

// errNoFileChooser means that a click had no effect on files.
var errNoFileChooser = errors.New("did not open a file chooser")

// openFileChooser clicks the target and returns the file input for which the page then opens a file
// chooser. The input must be in the target's frame or in a document of the same origin: frames of
// other sites, and the page around the target's frame, can open file choosers at the same time, and
// would receive the files. The user does not see the file chooser, because every action intercepts
// file choosers. The caller must call release when it no longer needs the input.
func (u *fileUpload) openFileChooser(ctx context.Context) (in *fileInput, release func(), err error) {
	a, el := u.actor, u.el
	before := a.opts.FileChoosers.Count()
	el.effects = nil // the click is not the action's last input
	if _, err := a.clickLeft(ctx, el); err != nil {
		return nil, nil, err
	}
	limit, cancel := context.WithTimeout(deadline.Caller(ctx), a.timing.FileChooser)
	defer cancel()
	var chooser cdppage.EventFileChooserOpened
	foreign := false
	err = a.tree.AwaitUnlessDialog(limit, func(s *frames.State) (bool, error) {
		for _, chooser = range slices.Backward(a.opts.FileChoosers.Since(before)) {
			if chooser.FrameID == el.Doc.Frame {
				return true, nil
			}
			if d := s.Document(s.Frame(chooser.FrameID)); d != nil && d.Origin == el.Doc.Origin && d.Origin != executor.OriginOpaque {
				return true, nil
			}
			foreign = true
		}
		return false, nil
	})
	switch {
	case errors.Is(err, context.DeadlineExceeded) && foreign:
		return nil, nil, executor.Errorf(executor.ErrNotActionable, "Use the file input as the target.",
			"a click on %s opened a file chooser only for a document of another origin; no files were set", a.describeWithRef(deadline.Caller(ctx), el))
	case errors.Is(err, context.DeadlineExceeded):
		return nil, nil, executor.Errorf(executor.ErrNotActionable, "Take a snapshot to see what the click did, or use the file input as the target.",
			"%s is not a file input, and a click on it %w", a.describeWithRef(deadline.Caller(ctx), el), errNoFileChooser)
	case err != nil:
		return nil, nil, err
	case chooser.BackendNodeID == 0: // the request has no file input
		return nil, nil, executor.Errorf(executor.ErrNotActionable, "Ask the user to choose the file in the page.",
			"the page opened a file picker that only the user can answer (showOpenFilePicker)")
	}
	if err := a.client.CheckFrame(ctx, chooser.FrameID, executor.OpUpload, ""); err != nil {
		return nil, nil, err
	}
	ctx, cancel = context.WithTimeout(deadline.Caller(ctx), a.timing.Input)
	defer cancel()
	d, err := a.tree.AwaitDocument(ctx, chooser.FrameID)
	if err != nil {
		return nil, nil, err
	}
	id, object, err := d.ElementID(ctx, chooser.BackendNodeID, "")
	if err != nil {
		return nil, nil, err
	}
	// The input may not be in the document. Then only the remote object prevents it from being
	// collected.
	release = func() {
		d.Session.Start(context.WithoutCancel(ctx), runtime.CommandReleaseObject, runtime.ReleaseObjectParams{ObjectID: object})
	}
	err = d.Call(ctx, &in, "fileInput", id)
	if err == nil && in == nil {
		err = frames.ErrDocumentGone
	}
	if err != nil {
		release()
		return nil, nil, transferError(err)
	}
	in.doc, in.chooser = d, true
	return in, release, nil
}

// setInputFiles sets the files as those of an input, if it accepts them.
func (u *fileUpload) setInputFiles(ctx context.Context, in *fileInput) error {
	if err := in.accepts(u.files); err != nil {
		return err
	}
	return u.transfer(ctx, in.doc, func(ctx context.Context, token string, about []fileDescription) error {
		var ok bool
		if in.chooser {
			if err := in.doc.Call(ctx, &ok, "setInputFiles", token, in.ID, about, true); err != nil || ok {
				return err
			}
			return frames.ErrDocumentGone
		}
		// The page may have changed since the first part of the files was sent.
		if err := u.actor.finder.Call(ctx, u.el.Element, &ok, "setInputFiles", token, in.ID, about, false); err != nil || ok {
			return err
		}
		return u.actor.finder.RemovedBeforeActionError(ctx, u.el.Element)
	})
}

// A fileDescription is a FileDescription of js/upload.js.
type fileDescription struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	Modified int64  `json:"modified"` // ms since 1970
}

// transfer sends the files to a document, and then calls give, which passes those that were sent
// with token to an element. It ignores the error of give if the page has received the files.
func (u *fileUpload) transfer(ctx context.Context, d *frames.Document, give func(ctx context.Context, token string, about []fileDescription) error) error {
	a := u.actor
	ctx, cancel := context.WithTimeout(ctx, a.timing.Upload)
	defer cancel()
	token := rand.Text()
	var done atomic.Bool
	a.tree.Reports().Subscribe(token, func([]byte) { done.Store(true) })
	defer func() {
		a.tree.Reports().Unsubscribe(token)
		if !done.Load() && d.IsCurrent() {
			d.Start(context.WithoutCancel(ctx), "discardFiles", token)
		}
	}()
	var about []fileDescription
	for i, f := range u.files {
		about = append(about, fileDescription{f.Name, f.MIMEType, f.Modified.UnixMilli()})
		for chunk := range slices.Chunk(f.Data, uploadChunk) {
			if err := d.Call(ctx, nil, "receiveFileChunk", token, i, base64.StdEncoding.EncodeToString(chunk)); err != nil {
				return transferError(err)
			}
		}
	}
	if err := a.client.CheckFrame(ctx, d.Frame, executor.OpUpload, ""); err != nil { // the policy or the document may have changed during the transfer
		return err
	}
	if err := give(ctx, token, about); err != nil && !done.Load() { // the page's event handlers may fail
		return transferError(err)
	}
	return nil
}

// transferError returns the error for files that did not reach the element.
func transferError(err error) error {
	if errors.Is(err, frames.ErrDocumentGone) {
		return executor.Errorf(executor.ErrTargetGone, "Take a snapshot to see where the page is.", "the element was removed before upload: %w", err)
	}
	if e, ok := errors.AsType[*executor.Error](err); ok {
		return e
	}
	return fmt.Errorf("sending the files to the page: %w", frames.TimeoutAs(err, "the page to accept the files"))
}
