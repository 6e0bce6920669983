package outline_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

const queryPage = `<!doctype html><meta charset="utf-8"><title>Q</title>
<h1 id="h">Welcome</h1><h2 id="h2">Sign in here</h2>
<div id="outer"><div id="box"><span id="s">Sign <b>in</b></span></div></div><button id="in">SIGN IN</button>
<button id="save">Save</button><button id="saveas" disabled>Save as</button><button id="gone" style="display:none">Save</button>
<input type="checkbox" id="c1" checked aria-label="One"><input type="checkbox" id="c2" aria-label="Two"><input type="submit" id="sub" value="Send it">
<div id="host"></div><p class="x" id="p1" hidden>first</p><p class="x" id="p2">second</p><div id="ce" contenteditable>edit</div>
<div id="low" style="display:none">secret</div>
<a id="a1" href="/one">One</a><a id="a2" href="/two" hidden>Two</a><input type="password" id="pw" value="hunter2">
<script>const r=host.attachShadow({mode:'open'});r.innerHTML='<p class="x" id="deep">shadow <slot></slot></p><button id="sb">Shadow save</button><a id="a3" href="#s">S</a>';host.append('slotted')</script>`

func serve(t testing.TB, html string) string {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Write([]byte(html))
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

func TestQuery(t *testing.T) {
	p := startBrowser(t).newTab(t, serve(t, queryPage))
	// find returns the ids of the matches, with a ! before those that are not visible.
	const find = `(sel, limit) => { const q = __cm.query(sel, {limit}); if (q.error) return 'error: ' + q.error;
		return q.total + ':' + q.matches.map(([n, v]) => (v ? '' : '!') + (__cm.byId(n).id || __cm.byId(n).localName)).join(' ') }`
	for _, c := range []struct{ selector, want string }{
		{".x", "3:deep !p1 p2"},
		{"css=#save", "1:save"},
		{"#nothing", "0:"},
		{"button", "5:in save saveas !gone sb"},
		{"div[", `error: "div[" is not a valid selector`},
		{"", "error: the selector is empty"},
		{"text=sign in", "3:h2 s in"},
		{`text="Sign in"`, "1:s"},
		{"text=SHADOW SLOTTED", "1:deep"},
		{"text=send", "1:sub"},
		{"text=second", "1:p2"},
		{"text=", "error: text= requires a text"},
		{`role=button[name="Save"]`, "1:save"},
		{`role=button[name=save]`, "3:save saveas sb"},
		{`role=button[name="save" i]`, "3:save saveas sb"},
		{`role=button[name=/^Save/][disabled]`, "1:saveas"},
		{`role=button[name="Save"][include-hidden]`, "2:save !gone"},
		{"role=checkbox[checked]", "1:c1"},
		{"role=checkbox[checked=false]", "1:c2"},
		{"role=heading[level=2]", "1:h2"},
		{"role=textbox", "2:ce pw"},
		{"role=nonsense", `error: unknown role "nonsense"`},
		{"role=button[bogus]", "error: role= does not support [bogus]; supported are name, checked, disabled, expanded, selected, pressed, level, required, invalid, readonly, focused, current, include-hidden"},
		{`role=button[name="x`, `error: role= cannot parse "[name=\"x"`},
	} {
		var got string
		p.js(find, &got, c.selector, 20)
		if got != c.want {
			t.Errorf("%s: got %s, want %s", c.selector, got, c.want)
		}
	}
	var got string
	p.js(find, &got, "p.x:not(#deep)", 1)
	if got != "2:!p1 p2" {
		t.Errorf("limit 1: got %s, want the first and the first visible one", got)
	}
}

func TestReading(t *testing.T) {
	p := startBrowser(t).newTab(t, serve(t, queryPage))
	var text string
	p.js("text", &text, 0)
	for _, want := range []string{"Welcome\n\nSign in here\n\nSign in\n", "Save", "shadow slotted", "second", "Send it"} {
		if !strings.Contains(text, want) {
			t.Errorf("text %q lacks %q", text, want)
		}
	}
	for _, hidden := range []string{"first", "secret", "hunter2", "Two"} {
		if strings.Contains(text, hidden) {
			t.Errorf("text %q contains %q, which is not visible", text, hidden)
		}
	}
	var links string
	p.js("() => __cm.links(0).links.map(([h, t, n]) => new URL(h).pathname + new URL(h).hash + ' ' + t + ' ' + __cm.byId(n).id).join('; ')", &links)
	if links != "/#s S a3; /one One a1" {
		t.Errorf("links: %s", links)
	}
	var html string
	p.js("() => __cm.html(0, true).html", &html)
	if !strings.Contains(html, `id="pw" value="••••"`) || strings.Contains(html, "hunter2") {
		t.Errorf("html does not mask the password: %s", html)
	}
	p.js("() => __cm.html(__cm.query('#s').matches[0][0], false).html", &html)
	if html != "Sign <b>in</b>" {
		t.Errorf("inner html %q", html)
	}
	var gone string
	p.js(`() => { const n = __cm.query('#save').matches[0][0]; const el = __cm.byId(n); el.remove();
		const out = [__cm.byId(n), __cm.describe(n), __cm.text(n), __cm.html(n, true), __cm.links(n), __cm.snapshot({root: n}).error];
		document.body.append(el); return JSON.stringify(out) + (__cm.byId(n) === el && __cm.idOf(el) === n) }`, &gone)
	if gone != `[null,null,null,null,null,"gone"]true` {
		t.Errorf("removed element: %s", gone)
	}
}

// TestTextMatchesInnerText compares text with innerText on a page without shadow roots.
func TestTextMatchesInnerText(t *testing.T) {
	p := startBrowser(t).newTab(t, serve(t, `<!doctype html><style>.u{text-transform:uppercase}</style><h1>One  two</h1><p>A <b>b</b>c <i> d</i></p><p>E<br>F</p>
<ul><li>x</li><li>y <span>z</span></li></ul><table><tr><td>1</td><td>2</td></tr><tr><td>3</td><td>4</td></tr></table><pre>k
  l</pre><div>m</div><div>n<div>o</div>q</div><span>r</span><span>s</span> <span class=u>up</span><div hidden>no</div><div style="visibility:hidden">no<b style="visibility:visible">yes</b></div>`))
	var got, want string
	p.js("text", &got, 0)
	p.js("() => document.body.innerText", &want)
	if got != strings.TrimSpace(want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
