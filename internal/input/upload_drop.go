package input

import (
	"context"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/deadline"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
)

// maxDropTries is how often files are dropped at most on an element that moves.
const maxDropTries = 3

// dropProblems are the reasons why js/upload.js did not drop files, or why the drop had no effect.
var dropProblems = map[string]string{
	"moved":    "moves",
	"covered":  "was covered during the drag",
	"rejected": "does not accept dropped files",
	"ignored":  "ignored the dropped files",
}

// drop drops the files on the target, at its action point. The events are not trusted, like those
// of a file input.
func (u *fileUpload) drop(ctx context.Context) (note string, err error) {
	a, el := u.actor, u.el
	var problem string
	err = u.transfer(deadline.Caller(ctx), el.Doc, func(tctx context.Context, token string, about []fileDescription) error {
		for tries := 1; ; tries++ {
			problem = "" // a page that navigates after the drop returns none
			actx, cancel := deadline.ForAction(tctx, 0)
			at, err := a.waitActionable(actx, el, actionabilityOptions{})
			cancel()
			if err != nil {
				return err
			}
			if at.frame != nil {
				return executor.Errorf(executor.ErrNotActionable, "Use an element inside the frame as the target.", "%s has a frame at the point of the drop", a.describeWithRef(tctx, el))
			}
			if err := a.client.CheckFrame(tctx, el.Doc.Frame, executor.OpUpload, ""); err != nil {
				return err
			}
			if err := a.finder.Call(tctx, el.Element, &problem, "dropFiles", token, el.ID, at.inner, about); err != nil {
				return err
			}
			if problem == "gone" {
				return frames.ErrDocumentGone
			}
			if problem != "moved" || tries == maxDropTries {
				return nil
			}
		}
	})
	if err != nil {
		return "", err
	}
	if problem != "" {
		return "", executor.Errorf(executor.ErrNotActionable, "Use the file input, or the element that shows where to drop files, as the target.",
			"%s %s", a.describeWithRef(deadline.Caller(ctx), el), dropProblems[problem])
	}
	el.Shown.RecordInput()
	return "the files were dropped on it", nil
}

// dropAfterClick drops the files on the target after a click on it opened no file chooser, which is
// the error noChooser. It returns noChooser if the target does not accept files.
func (u *fileUpload) dropAfterClick(ctx context.Context, noChooser error) (note string, err error) {
	if !u.el.Doc.IsCurrent() {
		return "", noChooser
	}
	note, err = u.drop(ctx)
	switch executor.CodeOf(err) {
	case executor.ErrNotActionable, executor.ErrTargetGone, executor.ErrRefExpired:
		return "", noChooser
	}
	return note, err
}
