package page

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/chromedp/cdproto/runtime"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/upload"
)

const (
	// uploadPiece is how much of a file goes to the page at a time, in bytes: a
	// fraction of what may wait to be sent to the extension.
	uploadPiece = 512 << 10
	// uploadLimit bounds the way of all files of one upload to the page.
	uploadLimit = 60 * time.Second
	// chooserLimit is how long after a click the page may ask for a file: some
	// ask a server first.
	chooserLimit = 2 * time.Second
)

// A fileInput is what js/upload.js tells of a file input.
type fileInput struct {
	ID       int    `json:"id"`
	Multiple bool   `json:"multiple"`
	Folder   bool   `json:"folder"`
	Accept   string `json:"accept"`
	Disabled bool   `json:"disabled"`
	doc      *document
}

// Upload gives files to the file input that the target is or is the label of,
// or else to the one that a click on the target asks for.
//
// DOM.setFileInputFiles would have the browser open the files by their names,
// when they may be others, and needs a setting of the user's in the extension.
// So the bytes are handed over.
func (v *View) Upload(ctx context.Context, target executor.Target, files []upload.File, opts *executor.ActionOptions) (*executor.Upload, error) {
	res := &executor.Upload{}
	for _, f := range files {
		res.Files = append(res.Files, f.UploadedFile)
	}
	var err error
	res.Changes, err = v.act(ctx, target, actOptions{timeout: timeoutOf(opts)}, func(ctx context.Context, el *element) (string, error) {
		return "", v.upload(ctx, el, files)
	})
	if err != nil {
		return nil, err
	}
	return res, nil
}

func (v *View) upload(ctx context.Context, el *element, files []upload.File) error {
	if err := v.checkFrame(ctx, el.doc.frame, executor.OpUpload, ""); err != nil {
		return err
	}
	var in *fileInput
	if err := el.doc.call(ctx, &in, "fileInput", el.id); errors.Is(err, errDocumentGone) {
		return v.vanished(ctx, el)
	} else if err != nil {
		return err
	}
	if in != nil {
		in.doc = el.doc
		if err := in.takes(files); err != nil {
			return err
		}
		return v.give(callerOf(ctx), in, files)
	}
	asked := el.watch
	in, letGo, err := v.chooserOf(ctx, el)
	if err != nil {
		return err
	}
	defer letGo()
	if err := in.takes(files); err != nil {
		return err
	}
	if err := v.give(callerOf(ctx), in, files); err != nil {
		return err
	}
	v.tab.mu.Lock()
	asked.choosers = v.tab.choosers // it was given what it asked for
	v.tab.mu.Unlock()
	return nil
}

// takes returns why an input does not take files.
func (in *fileInput) takes(files []upload.File) error {
	switch {
	case in.Disabled:
		return executor.Errorf(executor.ErrNotActionable, "Something else may have to be filled in or chosen first.", "the file input is disabled")
	case in.Folder:
		return executor.Errorf(executor.ErrBadArgs, "Ask the user to choose it in the page.", "the file input takes a whole folder, and only files can be uploaded; nothing was given")
	case len(files) > 1 && !in.Multiple:
		return executor.Errorf(executor.ErrBadArgs, "Name one path.", "the file input takes one file, not %d; nothing was given", len(files))
	}
	for _, f := range files {
		if !upload.Accepts(in.Accept, f) {
			return executor.Errorf(executor.ErrBadArgs, "Name a file that it takes.", "the file input does not take %q, only %q; nothing was given", f.Name, firstLine(in.Accept))
		}
	}
	return nil
}

// chooserOf clicks el and returns the file input that the page then asks to fill.
// Nobody sees the chooser: an action keeps choosers shut from its beginning to
// its end. letGo is to be called when the input is no longer needed.
func (v *View) chooserOf(ctx context.Context, el *element) (in *fileInput, letGo func(), err error) {
	t := v.tab
	t.mu.Lock()
	before := t.choosers
	t.mu.Unlock()
	el.watch = nil // the click is not all of the action
	if _, err := v.press(ctx, el, executor.ButtonLeft, 1, 0); err != nil {
		return nil, nil, err
	}
	limit, cancel := context.WithTimeout(callerOf(ctx), chooserLimit)
	defer cancel()
	var asked chooser
	err = t.await(limit, func() (bool, error) {
		if t.dialog != nil {
			return false, t.dialog.error()
		}
		asked = t.chooser
		return t.choosers != before, nil
	})
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, nil, executor.Errorf(executor.ErrNotActionable, "Take a snapshot to see what the click did, or give the file input itself.",
			"%s is no file input, and a click on it asked for no file", v.describeWithRef(callerOf(ctx), el))
	}
	if err != nil {
		return nil, nil, err
	}
	if asked.node == 0 {
		return nil, nil, executor.Errorf(executor.ErrNotActionable, "Ask the user to choose the file in the page.",
			"the page asks for a file in a way that only its user can answer (showOpenFilePicker)")
	}
	if err := v.checkFrame(ctx, asked.frame, executor.OpUpload, ""); err != nil {
		return nil, nil, err
	}
	ctx, cancel = context.WithTimeout(callerOf(ctx), inputTimeout)
	defer cancel()
	d, err := t.frameDocument(ctx, asked.frame)
	if err != nil {
		return nil, nil, err
	}
	id, object, err := d.number(ctx, asked.node, "")
	if err != nil {
		return nil, nil, err
	}
	// It need not be in the document, and then only this keeps it.
	letGo = func() {
		d.sess.Start(context.WithoutCancel(ctx), runtime.CommandReleaseObject, runtime.ReleaseObjectParams{ObjectID: object})
	}
	err = d.call(ctx, &in, "fileInput", id)
	if err == nil && in == nil {
		err = errDocumentGone
	}
	if err != nil {
		letGo()
		return nil, nil, ungiven(err)
	}
	in.doc = d
	return in, letGo, nil
}

// give brings files into the page and puts them into an input.
func (v *View) give(ctx context.Context, in *fileInput, files []upload.File) error {
	ctx, cancel := context.WithTimeout(ctx, uploadLimit)
	defer cancel()
	d, token := in.doc, rand.Text()
	var given atomic.Bool
	v.tab.hear(token, func([]byte) { given.Store(true) })
	defer func() {
		v.tab.unhear(token)
		if !given.Load() && d.current() {
			d.start(context.WithoutCancel(ctx), "forgetFiles", token)
		}
	}()
	type about struct {
		Name     string `json:"name"`
		Type     string `json:"type"`
		Modified int64  `json:"modified"` // ms since 1970
	}
	var list []about
	for i, f := range files {
		list = append(list, about{f.Name, f.MIMEType, f.Modified.UnixMilli()})
		for piece := range slices.Chunk(f.Data, uploadPiece) {
			if err := d.call(ctx, nil, "receive", token, i, base64.StdEncoding.EncodeToString(piece)); err != nil {
				return ungiven(err)
			}
		}
	}
	if err := v.checkFrame(ctx, d.frame, executor.OpUpload, ""); err != nil { // it took a while
		return err
	}
	var ok bool
	switch err := d.call(ctx, &ok, "giveFiles", token, in.ID, list); {
	case given.Load(), err == nil && ok:
		return nil // whatever the page then did
	case err == nil:
		return ungiven(errDocumentGone)
	default:
		return ungiven(err)
	}
}

// ungiven is the error for files that did not get to the input.
func ungiven(err error) error {
	if errors.Is(err, errDocumentGone) {
		return executor.Errorf(executor.ErrTargetGone, "Take a snapshot to see where the page is.", "the file input went away before it was given the files: %w", err)
	}
	return fmt.Errorf("giving the files to the page: %w", timeoutAs(err, "the page to take the files"))
}
