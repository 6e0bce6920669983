package dialogs

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// TestConsecutiveDialogs checks that only dialogs that open directly after an answer are counted.
func TestConsecutiveDialogs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d State
		for i, c := range []struct {
			after time.Duration // since the previous answer
			want  int
		}{{time.Hour, 0}, {time.Millisecond, 1}, {time.Second, 2}, {time.Second + 1, 0}, {0, 1}} {
			time.Sleep(c.after)
			if got := d.Opened(time.Now(), time.Second); got != c.want {
				t.Errorf("dialog %d: %d consecutive dialogs before it, want %d", i, got, c.want)
			}
			d.Answered(time.Now())
		}
	})
}

func TestAutomaticAnswer(t *testing.T) {
	var d State
	alert, confirm := executor.Dialog{Type: executor.DialogAlert}, executor.Dialog{Type: executor.DialogConfirm}
	if a := d.AutomaticAnswer(alert); a != nil {
		t.Errorf("answer %+v before any was set", a)
	}
	d.answerWith(func(d executor.Dialog) *executor.DialogAnswer {
		if d.Type == executor.DialogAlert {
			return &executor.DialogAnswer{Accept: true}
		}
		return nil
	})
	if a := d.AutomaticAnswer(alert); a == nil || !a.Accept {
		t.Errorf("answer to an alert: %+v", a)
	}
	if a := d.AutomaticAnswer(confirm); a != nil {
		t.Errorf("answer to a confirm dialog: %+v", a)
	}
	d.answerWith(nil)
	if a := d.AutomaticAnswer(alert); a != nil {
		t.Errorf("answer %+v after the end", a)
	}
}

func TestDialogError(t *testing.T) {
	var d State
	if err := d.Err(); err != nil {
		t.Errorf("without a dialog: %v", err)
	}
	d.SetOpen(&Dialog{Dialog: executor.Dialog{Type: executor.DialogAlert}})
	if err := d.Err(); err == nil {
		t.Error("no error for an open dialog")
	}
}
