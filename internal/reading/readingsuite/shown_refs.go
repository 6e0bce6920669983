package readingsuite

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
)

// A refShape is a change of an element between the snapshot with its ref and the action on the ref.
type refShape struct {
	shape      string // a key of shapes in testdata/refs.html
	role, name string // of the element in the snapshot
	click      string // button that the case clicks before, instead of a change by the page
	changes    bool   // the page makes the change of the shape
	does       string // what the element reports when it is clicked
	now        string // its name afterwards, in the note or the error
}

// sameThings are the shapes after which a ref still acts, otherThings those after which it does not.
var (
	sameThings = []refShape{
		{shape: "toggle", role: "button", name: "Mute", click: "Mute", does: "Mute"},
		{shape: "sending", role: "button", name: "Send", click: "Send", does: "Send"},
		{shape: "counter", role: "button", name: "Inbox (5)", changes: true, does: "Inbox (5)", now: "Inbox (6)"},
		{shape: "expanded", role: "button", name: "Details", click: "Details", does: "Details"},
		{shape: "sorted", role: "button", name: "City", click: "City", does: "City"},
		{shape: "clock", role: "button", name: "Snooze", changes: true, does: "Snooze"},
		{shape: "badge", role: "button", name: "Cart", changes: true, does: "Cart", now: "Cart 2 items"},
		{shape: "language", role: "button", name: "Store", click: "Deutsch", does: "Store"},
		{shape: "uploading", role: "button", name: "Upload", changes: true, does: "Upload", now: "Uploading…"},
		{shape: "item", role: "button", name: "Gift wrap", click: "Order", does: "Gift wrap"},
		{shape: "keyed", role: "button", name: "Cancel", changes: true, does: "Cancel"},
		{shape: "hovered", role: "button", name: "Open", does: "Open"},
		{shape: "moved", role: "button", name: "Up", changes: true, does: "Up"},
		{shape: "plainRest", role: "button", name: "Invite", changes: true, does: "Invite"},
		{shape: "plainFirst", role: "button", name: "Restore", changes: true, does: "Restore"},
		{shape: "plainState", role: "button", name: "Pin", changes: true, does: "Pin"},
		{shape: "sections", role: "button", name: "Seek", changes: true, does: "Seek"},
		{shape: "lengthy", role: "button", name: "Renew", changes: true, does: "Renew"},
		{shape: "written", role: "button", name: "Caf\u00e9 bill", changes: true, does: "Caf\u00e9 bill"},
	}
	otherThings = []refShape{
		{shape: "recycled", role: "button", name: "Delete account 3", changes: true, now: `button "Delete account 53" in "Account 53"`},
		{shape: "equal", role: "button", name: "Ban", changes: true, now: `button "Ban" in "Xenia"`},
		{shape: "numbered", role: "button", name: "Pay", changes: true, now: `button "Pay" in "Invoice 4"`},
		{shape: "unlisted", role: "button", name: "Close ticket 3", changes: true, now: `button "Close ticket 6"`},
		{shape: "dialog", role: "button", name: "Confirm", changes: true, now: `button "Confirm" in "Erase Bob?"`},
		{shape: "carousel", role: "button", name: "Buy", changes: true, now: `button "Buy" in "Toaster"`},
		{shape: "panel", role: "button", name: "Reset", changes: true, now: `button "Reset" in "Security"`},
		{shape: "options", role: "option", name: "Bergen", changes: true, now: `option "Lyon"`},
		{shape: "unkeyed", role: "button", name: "Remove", changes: true, now: `button "Remove" in "Ben"`},
		{shape: "paged", role: "button", name: "Refund", changes: true, now: `button "Refund" in "Chair"`},
		{shape: "role", role: "button", name: "Help", changes: true, now: `link "Help"`},
		{shape: "link", role: "link", name: "Read more", changes: true, now: `link "Read more"`},
		{shape: "position", role: "button", name: "Play", changes: true, now: `button "Play" in "Song"`},
		{shape: "plain", role: "button", name: "Evict", changes: true, now: `button "Evict" in "Tom"`},
		{shape: "plainNumbers", role: "button", name: "Unlock", changes: true, now: `button "Unlock" in "Cell 4"`},
		{shape: "plainSorted", role: "button", name: "Visit", changes: true, now: `button "Visit" in "Delhi"`},
		{shape: "plainKeys", role: "button", name: "Track", changes: true, now: `button "Track" in "Order"`},
		{shape: "long", role: "button", name: "Suspend", changes: true, now: `button "Suspend" in "Xaver, The agreement`},
		{shape: "longRest", role: "button", name: "Dispute", changes: true, now: `button "Dispute" in "Order placed, 9 May, The agreement`},
		{shape: "swapped", role: "button", name: "Transfer", changes: true, now: `button "Transfer" in "Eve, Adam"`},
		{shape: "renamed", role: "button", name: "Follow", changes: true, now: `button "Block"`},
		{shape: "pointed", role: "button", name: "Edit", now: `button "Edit" in "Second row"`},
	}
)

// prepare makes the change of a shape in the page of the case, or clicks what makes it.
func prepare(c *suite.Case, x refShape, snapshot string) {
	c.Helper()
	switch {
	case x.click != "":
		c.Click(suite.ByRef(c.RefIn(snapshot, "button", x.click)), nil)
	case x.changes:
		c.Eval("change("+suite.Quote(x.shape)+"); 0", nil)
	}
	c.Eval("log.length = 0", nil)
}

// wantOther checks that an action on a ref fails because its element is another thing, and that the
// page received no click.
func wantOther(c *suite.Case, err error, ref executor.Ref, x refShape) {
	c.Helper()
	c.WantCode(err, executor.ErrRefExpired, string(ref), x.role+` "`+x.name+`"`, x.now, "nothing was sent")
	var log []string
	c.Eval("log.map((r) => r.id)", &log)
	if len(log) > 0 {
		c.Errorf("%s: the page received %q", x.shape, log)
	}
}

// onePassword is a secret shop.password for an origin.
type onePassword struct {
	origin string
	read   atomic.Bool // the value was read
}

// List implements executor.Secrets.
func (s *onePassword) List(context.Context) ([]executor.SecretInfo, error) {
	return []executor.SecretInfo{{Name: "shop", Fields: []string{"password"}, Origins: []string{s.origin}}}, nil
}

// Find implements executor.Secrets.
func (s *onePassword) Find(_ context.Context, name, field string) (*executor.SecretField, bool, error) {
	return &executor.SecretField{Name: name, Field: field, Origins: []string{s.origin}, Value: func(context.Context) (string, error) {
		s.read.Store(true)
		return "Kw7#qLz9&vX", nil
	}}, name == "shop" && field == "password", nil
}

func shownRefs(s *suite.Runner, t *testing.T) {
	s.Page(t, "elements that change and are the same things", "refs.html", func(c *suite.Case) {
		text := c.Snap(nil)
		for _, x := range sameThings {
			ref := c.RefIn(text, x.role, x.name)
			prepare(c, x, text)
			a, err := c.Page().Click(c.Ctx, suite.ByRef(ref), &executor.ClickOptions{Timeout: await.HangLimit})
			if err != nil {
				c.Errorf("%s: %v", x.shape, err)
				continue
			}
			c.WantReported("did " + x.does)
			if x.now != "" && !strings.Contains(a.Note, string(ref)+` is now button "`+x.now+`"`) {
				c.Errorf("%s: note %q, want the new name", x.shape, a.Note)
			}
		}
	})
	s.Page(t, "elements that a page reuses for other things", "refs.html", func(c *suite.Case) {
		text := c.Snap(nil)
		for _, x := range otherThings {
			ref := c.RefIn(text, x.role, x.name)
			prepare(c, x, text)
			_, err := c.Page().Click(c.Ctx, suite.ByRef(ref), nil)
			wantOther(c, err, ref, x)
		}
	})
	s.Page(t, "no call that acts sends anything", "", func(c *suite.Case) {
		dir, secrets := c.TempDir(), &onePassword{}
		if err := os.WriteFile(filepath.Join(dir, "photo.png"), []byte("photo"), 0o600); err != nil {
			c.Fatal(err)
		}
		c.Exec = c.Session(executor.SessionOptions{Gate: executor.AllowAll, UploadsDir: dir, Secrets: secrets})
		c.Tab = c.Open("refs.html")
		secrets.origin = c.Origin()
		text := c.Snap(nil)
		x := refShape{shape: "fields", role: "textbox", name: "Comment", changes: true, now: `textbox "Comment" in "Kim"`}
		ref, plan, mail := c.RefIn(text, "textbox", "Comment"), c.RefIn(text, "combobox", "Plan"), c.RefIn(text, "button", "Mail")
		other, photo, passphrase := c.RefIn(text, "button", "Follow"), c.RefIn(text, "button", "Photo"), c.RefIn(text, "textbox", "Passphrase")
		prepare(c, x, text)
		p, ctx := c.Page(), c.Ctx
		for _, err := range []error{
			suite.ErrOf(p.Click(ctx, suite.ByRef(ref), nil)),
			suite.ErrOf(p.Type(ctx, suite.ByRef(ref), "text", nil)),
			suite.ErrOf(p.Type(ctx, suite.ByRef(ref), "text", &executor.TypeOptions{Clear: true, KeyEvents: true})),
			suite.ErrOf(p.Press(ctx, "a", &executor.PressOptions{Target: suite.ByRef(ref)})),
			suite.ErrOf(p.Hover(ctx, suite.ByRef(ref), nil)),
			suite.ErrOf(p.FillForm(ctx, []executor.Field{{Target: suite.ByRef(ref), Value: "text"}}, nil)),
			suite.ErrOf(p.Drag(ctx, suite.ByRef(ref), suite.ByRef(other), nil)),
			suite.ErrOf(p.Drag(ctx, suite.ByRef(other), suite.ByRef(ref), nil)),
			suite.ErrOf(p.Eval(ctx, "(el) => { log.push({id: 'eval'}); }", &executor.EvalOptions{Target: suite.ByRef(ref)})),
		} {
			wantOther(c, err, ref, x)
		}
		x.role, x.name, x.now = "combobox", "Plan", `combobox "Plan" in "Kim"`
		wantOther(c, suite.ErrOf(p.SelectOption(ctx, suite.ByRef(plan), []string{"Paid"}, nil)), plan, x)
		x.role, x.name, x.now = "button", "Photo", `button "Photo" in "Kim"`
		wantOther(c, suite.ErrOf(p.Upload(ctx, suite.ByRef(photo), []string{"photo.png"}, nil)), photo, x)
		x.name, x.now = "Mail", `button "Mail" in "Kim"`
		wantOther(c, suite.ErrOf(p.Download(ctx, &executor.DownloadOptions{Target: suite.ByRef(mail)})), mail, x)
		x.role, x.name, x.now = "textbox", "Passphrase", `textbox "Passphrase" in "Kim"`
		for _, err := range []error{
			suite.ErrOf(p.Type(ctx, suite.ByRef(passphrase), "{{shop.password}}", nil)),
			suite.ErrOf(p.FillForm(ctx, []executor.Field{{Target: suite.ByRef(passphrase), Value: "{{shop.password}}"}}, nil)),
		} {
			wantOther(c, err, passphrase, x)
		}
		if secrets.read.Load() {
			c.Error("the value of the secret was read")
		}
		err := suite.ErrOf(p.FillForm(ctx, []executor.Field{{Target: suite.Selector("#fields input"), Value: "x"}}, &executor.FillOptions{Submit: suite.ByRef(mail)}))
		c.WantCode(err, executor.ErrRefExpired, string(mail), `button "Mail" in "Kim"`, "nothing was sent")
		var clicks int
		c.Eval("log.filter((r) => r.id === 'Mail').length", &clicks)
		if clicks > 0 {
			c.Error("the submit button was clicked")
		}
	})
	s.Page(t, "other things have new refs, also in diffs and as candidates", "refs.html", func(c *suite.Case) {
		text := c.Snap(nil)
		x := otherThings[0]
		ref := c.RefIn(text, x.role, x.name)
		prepare(c, x, text)
		_, err := c.Page().Click(c.Ctx, suite.ByRef(ref), nil)
		wantOther(c, err, ref, x)
		for _, o := range err.(*executor.Error).Candidates {
			if o.Ref == ref {
				c.Errorf("the candidate %+v has the old ref", o)
			}
		}
		again := c.Snap(nil)
		now := c.RefIn(again, "button", "Delete account 53")
		if now == ref {
			c.Errorf("the snapshot shows another account with ref %s", ref)
		}
		wantOther(c, suite.ErrOf(c.Page().Click(c.Ctx, suite.ByRef(ref), nil)), ref, x)
		c.Click(suite.ByRef(now), nil)
		c.WantReported("did delete 3")
		prepare(c, refShape{shape: "equal", changes: true}, "")
		c.WantIn(c.Snap(&executor.SnapshotOptions{Diff: true}), "Xenia")
		if ref := c.RefIn(again, "button", "Ban"); c.Ref("button", "Ban") == ref {
			c.Errorf("the row of Xenia still has ref %s", ref)
		}
	})
	s.Page(t, "the row that an element moved to is the first candidate", "refs.html", func(c *suite.Case) {
		text := c.Snap(nil)
		ref := c.RefIn(text, "button", "Remove")
		c.Eval(`const spans = document.querySelectorAll("#unkeyed span"); spans[0].textContent = "Ben"; spans[1].textContent = "Anna"; 0`, nil)
		_, err := c.Page().Click(c.Ctx, suite.ByRef(ref), nil)
		c.WantCode(err, executor.ErrRefExpired, `in "Anna"`, `in "Ben"`)
		list := err.(*executor.Error).Candidates
		if len(list) != 1 {
			c.Fatalf("candidates %+v, want only the one in the row of Anna", list)
		}
		c.Click(suite.ByRef(list[0].Ref), nil)
		c.WantReported("did Remove 1")
	})
	s.Page(t, "the row of a removed element has the first candidate", "refs.html", func(c *suite.Case) {
		ref := c.RefIn(c.Snap(nil), "button", "Remove")
		c.Eval(`document.querySelectorAll("#unkeyed li").forEach((el) => el.replaceWith(el.cloneNode(true))); 0`, nil)
		_, err := c.Page().Click(c.Ctx, suite.ByRef(ref), nil)
		c.WantCode(err, executor.ErrRefExpired)
		list := err.(*executor.Error).Candidates
		if len(list) != 1 || list[0].Item != "Anna" {
			c.Errorf("candidates %+v, want only the one in the row of Anna", list)
		}
	})
	s.Page(t, "candidates and the note on several matches have the item or the group", "refs.html", func(c *suite.Case) {
		c.Eval(`document.querySelector("main").innerHTML = '<div role="group" aria-label="Lamp">$5 <button>Buy now</button></div>' +
			'<fieldset><legend>Home</legend><button>Buy now</button></fieldset><section><h3>Vase</h3><p><button>Buy now</button></p></section>' +
			'<ul><li>Desk <span role="group" aria-label="Blue"><button>Buy now</button></span></li></ul><ul><li><button>Buy now</button></li></ul>'; 0`, nil)
		_, err := c.Page().Click(c.Ctx, executor.Target{Selector: `role=button[name="Buy"]`}, nil)
		c.WantCode(err, executor.ErrSelectorNotFound)
		var items []string
		for _, o := range err.(*executor.Error).Candidates {
			items = append(items, o.Item)
		}
		if want := []string{"Lamp", "Home", "Vase", "Blue, Desk", ""}; !slices.Equal(items, want) {
			c.Errorf("the candidates are in %q, want %q", items, want)
		}
		c.WantIn(c.Click(suite.Selector("button"), nil).Note, `5 elements match; the first visible one was used, in "Lamp"`)
	})
	s.Page(t, "what another session received does not count", "refs.html", func(c *suite.Case) {
		other := c.Session(executor.SessionOptions{Gate: executor.AllowAll})
		text := c.Snap(nil)
		equal, numbered := otherThings[1], otherThings[2]
		ref, pay, toggle := c.RefIn(text, "button", equal.name), c.RefIn(text, "button", numbered.name), c.RefIn(text, "button", "Mute")
		prepare(c, equal, text)
		prepare(c, numbered, text)
		c.Eval("document.querySelectorAll('#numbered li + li').forEach((el) => el.remove()); 0", nil)
		if _, err := pagetest.Of(other, c.Tab).Snapshot(c.Ctx, nil); err != nil {
			c.Fatal(err)
		}
		wantOther(c, suite.ErrOf(c.Page().Click(c.Ctx, suite.ByRef(pay), nil)), pay, numbered) // its list had several items
		c.Click(suite.ByRef(toggle), nil)
		c.Eval("log.length = 0", nil)
		wantOther(c, suite.ErrOf(c.Page().Click(c.Ctx, suite.ByRef(ref), nil)), ref, equal) // the click changed no list
	})
	s.Page(t, "without a diff the result has the new name", "refs.html", func(c *suite.Case) {
		ref := c.Ref("button", "Mute")
		ctx := executor.WithCallOptions(c.Ctx, executor.CallOptions{AfterAction: executor.AfterNone})
		for _, name := range []string{"Unmute", "Mute"} {
			a, err := c.Page().Click(ctx, suite.ByRef(ref), nil)
			if err != nil {
				c.Fatal(err)
			}
			if want := string(ref) + ` is now button "` + name + `"`; a.Note != want || a.Diff != "" {
				c.Errorf("note %q and diff %q, want the note %q only", a.Note, a.Diff, want)
			}
		}
	})
	s.Page(t, "without a snapshot the result has the new name", "refs.html", func(c *suite.Case) {
		a, err := c.Page().Click(c.Ctx, suite.Selector("text=Mute"), nil)
		if err != nil {
			c.Fatal(err)
		}
		if want := `button "Mute" is now button "Unmute"`; a.Note != want {
			c.Errorf("note %q, want %q", a.Note, want)
		}
	})
	s.Page(t, "reading and waiting calls have a note", "refs.html", func(c *suite.Case) {
		text := c.Snap(nil)
		x := otherThings[1]
		ref := c.RefIn(text, x.role, x.name)
		prepare(c, x, text)
		notes := map[string]string{}
		if r, err := c.Page().Text(c.Ctx, &executor.TextOptions{Target: suite.ByRef(ref)}); err == nil {
			notes["text"] = r.Note
		}
		if r, err := c.Page().HTML(c.Ctx, &executor.HTMLOptions{Target: suite.ByRef(ref)}); err == nil {
			notes["HTML"] = r.Note
		}
		if r, err := c.Page().Markdown(c.Ctx, &executor.MarkdownOptions{Target: suite.ByRef(ref)}); err == nil {
			notes["markdown"] = r.Note
		}
		if r, err := c.Page().Links(c.Ctx, &executor.LinksOptions{Target: suite.ByRef(ref)}); err == nil {
			notes["links"] = r.Note
		}
		if r, err := c.Page().Screenshot(c.Ctx, &executor.ScreenshotOptions{Target: suite.ByRef(ref)}); err == nil {
			notes["screenshot"] = r.Note
		}
		if r, err := c.Page().Scroll(c.Ctx, &executor.ScrollOptions{Target: suite.ByRef(ref)}); err == nil {
			notes["scroll"] = r.Note
		}
		c.Eval(`document.querySelector("#equal button").hidden = true; 0`, nil)
		notes["wait"] = c.Met(executor.WaitCondition{Gone: suite.ByRef(ref)}).Note
		c.Eval(`document.querySelector("#equal button").hidden = false; 0`, nil)
		if r, err := c.Page().Snapshot(c.Ctx, &executor.SnapshotOptions{Target: suite.ByRef(ref)}); err == nil {
			notes["snapshot"] = r.Note
		}
		for _, call := range []string{"text", "HTML", "markdown", "links", "screenshot", "scroll", "wait", "snapshot"} {
			if !strings.HasPrefix(notes[call], string(ref)+` was button "Ban" in "Alice" and is now button`) {
				c.Errorf("note of %s: %q", call, notes[call])
			}
		}
		wantOther(c, suite.ErrOf(c.Page().Click(c.Ctx, suite.ByRef(ref), nil)), ref, x) // a note does not make the ref usable
	})
	s.Page(t, "in frames of this site and of another", "second.html", func(c *suite.Case) {
		for _, url := range []string{c.URL("refs.html"), c.OtherURL("refs.html")} {
			c.Eval("new Promise((done) => { const f = document.createElement('iframe'); f.onload = () => done(0); f.width = f.height = 700; f.src = "+suite.Quote(url)+"; document.body.replaceChildren(f); })", nil)
			text := c.SnapWith(`button "Delete account 3"`)
			same, other := c.RefIn(text, "button", "Cart"), c.RefIn(text, "button", "Delete account 3")
			c.Eval("for (const shape of ['badge', 'recycled']) document.querySelector('iframe').contentWindow.postMessage(shape, '*'); 0", nil)
			c.Await("changed", "badge")
			c.Await("changed", "recycled")
			_, err := c.Page().Click(c.Ctx, suite.ByRef(other), nil)
			c.WantCode(err, executor.ErrRefExpired, string(other), `button "Delete account 53" in "Account 53"`)
			if a := c.Click(suite.ByRef(same), nil); !strings.Contains(a.Note, `button "Cart 2 items"`) {
				c.Errorf("note %q, want the new name", a.Note)
			}
			c.Await("did", "Cart")
		}
	})
}
