package main

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"image"
	_ "image/png"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// secretArgs are the arguments of a call of type.
func secretArgs(tab, selector, text string) map[string]any {
	return map[string]any{"tabId": tab, "selector": selector, "text": text}
}

// reports is a script with which a page reports the values of its fields when they change, and when
// the page is left.
const reports = `<script>
addEventListener('input', (e) => fetch('/got?' + e.target.id + '=' + encodeURIComponent(e.target.value)), true);
</script>`

// minAttacks is how many different attacks TestSecretAttacks runs at least.
const minAttacks = 30

// attack records an attack of the current subtest for the count.
func (s *secretsTest) attack(what string) {
	if s.attacks == nil {
		s.attacks = make(map[string]bool)
	}
	s.attacks[s.t.Name()+": "+what] = true
}

// TestSecretAttacks checks that nothing reaches another place than the fields of the secret's own
// site, and that no result has a value.
func TestSecretAttacks(t *testing.T) {
	t.Parallel() // it mainly waits
	s := newSecretsTest(t, "--allow-domain", "*.localhost")
	https := strings.Replace(s.site.URL, "http://", "https://", 1)
	s.set("tls.password", testPassword, "--origin", https)
	s.site.page("/login", loginForm+reports)
	attacks := []struct {
		name string
		run  func(*secretsTest, *testing.T)
	}{
		{"other sites", (*secretsTest).otherSites},
		{"frames of other sites", (*secretsTest).otherFrames},
		{"frame in another site", (*secretsTest).framedSite},
		{"other fields", (*secretsTest).otherFields},
		{"shadow roots", (*secretsTest).shadowRoots},
		{"pages that act at focus", (*secretsTest).focusAttacks},
		{"arguments of other tools", (*secretsTest).otherArguments},
		{"unknown and escaped placeholders", (*secretsTest).unknownSecrets},
		{"scripts after typing", (*secretsTest).scriptsAfter},
		{"scripts before typing", (*secretsTest).scriptsBefore},
		{"batch scripts", (*secretsTest).batchScripts},
		{"pages that show the value", (*secretsTest).shownValues},
		{"values read in parts", (*secretsTest).partsOfValues},
		{"values found in parts", (*secretsTest).foundParts},
		{"events that show the value", (*secretsTest).reportedValues},
		{"screenshots", (*secretsTest).screenshots},
		{"clipboard", (*secretsTest).clipboard},
		{"guesses by selector", (*secretsTest).selectorGuesses},
		{"wide permissions", (*secretsTest).widePermissions},
	}
	ran := 0
	for _, attack := range attacks {
		t.Run(attack.name, func(t *testing.T) {
			ran++
			s.t = t
			attack.run(s, t)
		})
	}
	s.t = t
	if !t.Failed() && ran == len(attacks) && len(s.attacks) < minAttacks {
		t.Errorf("%d attacks, want at least %d: %v", len(s.attacks), minAttacks, slices.Sorted(maps.Keys(s.attacks)))
	}
	log, err := os.ReadFile(s.auditLog())
	if err != nil {
		t.Fatal(err)
	}
	s.wantNothing("the audit log", string(log))
	if ran == len(attacks) && !strings.Contains(string(log), `"rule":"secret:shop"`) {
		t.Error("the audit log does not have the rule of the denials")
	}
	// Only the site of the secret has received it.
	s.site.mu.Lock()
	defer s.site.mu.Unlock()
	host := strings.TrimPrefix(s.site.URL, "http://")
	for _, r := range s.site.received {
		if decoded, _ := url.QueryUnescape(r); strings.Contains(decoded, testPassword) && !strings.HasPrefix(r, host+"/") {
			t.Errorf("another site received %s", r)
		}
	}
}

// denies types the password, which must fail.
func (s *secretsTest) denies(tab, selector string, want ...string) {
	s.t.Helper()
	s.refused(s.t, "POLICY_DENIED", "type", secretArgs(tab, selector, "{{shop.password}}"), append(want, "nothing was typed")...)
	s.refused(s.t, "POLICY_DENIED", "fill_form", map[string]any{"tabId": tab, "fields": map[string]any{selector: "x{{shop.password}}"}}, append(want, "nothing was typed")...)
}

func (s *secretsTest) otherSites(t *testing.T) {
	for _, site := range []string{s.site.host("localhost"), s.site.other.URL, s.site.host("127.0.0.1.localhost"), s.site.host("shop.localhost")} {
		s.attack(site)
		s.denies(s.openURL(site+"/login"), "#password", "is for "+s.site.URL)
	}
	tab := s.open("/login")
	s.attack("other scheme")
	s.refused(t, "POLICY_DENIED", "type", secretArgs(tab, "#password", "{{tls.password}}"), "is for https://")
	if s.site.got("/got?password") {
		t.Error("something was typed")
	}
	s.attack("redirect")
	s.site.handle("/away", http.RedirectHandler(s.site.host("localhost")+"/login", http.StatusFound).ServeHTTP)
	s.denies(s.open("/away"), "#password", "is for")
	blank := s.openURL("about:blank")
	s.refused(t, "SELECTOR_NOT_FOUND", "type", secretArgs(blank, "#password", "{{shop.password}}"))
}

// refIn returns the ref of the password field in a frame.
func (s *secretsTest) refIn(tab string) string {
	s.t.Helper()
	text := s.call(s.t, "snapshot", map[string]any{"tabId": tab})
	for line := range strings.Lines(text) {
		if i := strings.Index(line, "[ref="); i >= 0 && strings.Contains(line, "Secret field") {
			return line[i+5 : i+strings.Index(line[i:], "]")]
		}
	}
	s.t.Fatalf("no field in\n%s", text)
	return ""
}

func (s *secretsTest) otherFrames(t *testing.T) {
	s.site.page("/inner", `<input type=password aria-label="Secret field">`+reports)
	for i, frame := range []string{
		`<iframe src="$LOCALHOST/inner"></iframe>`,
		`<iframe src="$OTHER/inner"></iframe>`,
	} {
		s.attack(frame)
		s.site.page("/outer", "<p>Outer</p>"+frame)
		tab := s.open("/outer")
		s.refused(t, "POLICY_DENIED", "type", map[string]any{"tabId": tab, "ref": s.refIn(tab), "text": "{{shop.password}}"}, "is for")
		s.call(t, "type", map[string]any{"tabId": tab, "ref": s.refIn(tab), "text": "else"}) // the field accepts text
		t.Log("frame", i)
	}
	s.attack("sandbox")
	s.site.page("/outer", `<iframe sandbox="allow-scripts" src="/inner"></iframe>`)
	tab := s.open("/outer")
	text := s.call(t, "snapshot", map[string]any{"tabId": tab})
	if strings.Contains(text, "Secret field") {
		t.Errorf("a sandboxed frame is readable:\n%s", text)
	}
}

// framedSite checks that only the document of the field counts, and that the page around it gets
// nothing.
func (s *secretsTest) framedSite(t *testing.T) {
	s.site.page("/inner", `<input id=framed type=password aria-label="Secret field">`+reports)
	s.site.page("/outer", `<iframe src="`+s.site.URL+`/inner"></iframe>`+reports)
	s.attack("page around the frame")
	tab := s.openURL(s.site.host("localhost") + "/outer")
	s.call(t, "type", map[string]any{"tabId": tab, "ref": s.refIn(tab), "text": "{{shop.password}}"})
	s.refused(t, "POLICY_DENIED", "eval", map[string]any{"tabId": tab, "expression": "1"})
}

func (s *secretsTest) otherFields(t *testing.T) {
	s.site.page("/fields", `<input id=user><input id=text><input id=email type=email><input id=search type=search autocomplete=password>
<textarea id=area></textarea><div id=editor contenteditable>Text</div><input id=hidden type=hidden autocomplete=one-time-code>
<select id=select><option>a</select><input id=date type=date autocomplete=one-time-code><input id=readonly type=password readonly>
<input id=short type=password maxlength=5><input id=many autocomplete="section-a one-time-codes">`+reports)
	tab := s.open("/fields")
	for _, id := range []string{"user", "text", "email", "search", "area", "many"} {
		s.attack(id)
		s.denies(tab, "#"+id, "another field")
	}
	for id, code := range map[string]string{"editor": "POLICY_DENIED", "select": "NOT_ACTIONABLE", "date": "POLICY_DENIED", "readonly": "NOT_ACTIONABLE", "hidden": "NOT_ACTIONABLE", "short": "NOT_ACTIONABLE"} {
		s.attack(id)
		text, failed, err := s.try(t.Context(), "type", secretArgs(tab, "#"+id, "{{shop.password}}"))
		if err != nil || !failed {
			t.Errorf("%s: %v %s, want %s", id, err, text, code)
		}
		s.wantNothing(id, text)
	}
	s.refused(t, "POLICY_DENIED", "type", secretArgs(tab, "#text", "{{shop.username}}"), "match #user", "another field")
	s.refused(t, "POLICY_DENIED", "type", secretArgs(tab, "#user", "{{shop.username}}{{shop.password}}"), "another field")
	s.refused(t, "BAD_ARGS", "type", map[string]any{"tabId": tab, "selector": "#user", "text": "{{shop.username}}", "keyEvents": true}, "Omit keyEvents")
	for _, id := range []string{"user", "text", "email", "search", "area", "editor", "short", "many", "date"} {
		if s.site.got("/got?" + id + "=") {
			t.Errorf("something was typed into %s", id)
		}
	}
	// A script may still run: nothing was typed.
	s.call(t, "eval", map[string]any{"tabId": tab, "expression": "[...document.querySelectorAll('input, textarea')].map((e) => e.value).join('')"})
}

func (s *secretsTest) shadowRoots(t *testing.T) {
	s.site.page("/shadow", `<div id=host></div><script>
const root = document.getElementById('host').attachShadow({mode: 'closed'});
root.innerHTML = '<input aria-label="Plain field"><input type=password aria-label="Secret field">';
root.addEventListener('input', (e) => fetch('/got?shadow=' + encodeURIComponent(e.target.value)));
</script>`)
	tab := s.open("/shadow")
	s.call(t, "type", map[string]any{"tabId": tab, "ref": s.refIn(tab), "text": "{{shop.password}}"})
	s.site.await(t, "/got?shadow="+url.QueryEscape(testPassword))
	if text := s.call(t, "snapshot", map[string]any{"tabId": tab}); !strings.Contains(text, "••••") {
		t.Errorf("snapshot:\n%s", text)
	}
}

// focusAttacks has pages that change something when the field gets the focus: between the check and
// the entry.
func (s *secretsTest) focusAttacks(t *testing.T) {
	const fields = `<input id=password type=password><input id=comment oninput="fetch('/leak?' + this.value)">`
	page := func(script string) string {
		s.attack(script)
		s.site.page("/focus", fields+"<script>document.getElementById('password').addEventListener('focus', (e) => {"+script+"}, {once: true});</script>")
		return s.open("/focus")
	}
	tab := page("e.target.type = 'text'")
	s.refused(t, "POLICY_DENIED", "type", secretArgs(tab, "#password", "{{shop.password}}"), "nothing was typed")
	tab = page("const plain = document.createElement('input'); plain.id = 'password'; e.target.replaceWith(plain); plain.focus()")
	if text, failed, err := s.try(t.Context(), "type", secretArgs(tab, "#password", "{{shop.password}}")); err != nil || !failed {
		t.Errorf("a replaced field: %v %s", err, text)
	}
	tab = page("document.getElementById('comment').focus()")
	text := s.call(t, "type", map[string]any{"tabId": tab, "selector": "#password", "text": "{{shop.password}}", "pressEnter": true}, "moved the focus", "Enter was not pressed")
	s.wantNothing("type", text)
	for _, away := range []string{s.site.host("localhost") + "/login", s.site.other.URL + "/login"} {
		tab = page("location.href = '" + away + "'")
		s.try(t.Context(), "type", secretArgs(tab, "#password", "{{shop.password}}"))
		s.call(t, "wait_for", map[string]any{"tabId": tab, "url": away})
		s.denies(tab, "#password", "is for")
	}
	tab = page("document.domain = document.domain; document.open(); document.write('<input id=password>'); document.close()")
	if text, failed, err := s.try(t.Context(), "type", secretArgs(tab, "#password", "{{shop.password}}")); err != nil || !failed {
		t.Errorf("a document that was written again: %v %s", err, text)
	}
	if s.site.got("/leak?") {
		t.Error("the other field got text")
	}
}

// otherArguments passes placeholders to other tools, which do not expand them.
func (s *secretsTest) otherArguments(t *testing.T) {
	s.site.page("/args", `<input id=password type=password><select id=select><option>a</select><button onclick="document.title = prompt('x')">Ask</button>`)
	tab := s.open("/args")
	const p = "{{shop.password}}"
	for tool, args := range map[string]map[string]any{
		"navigate":      {"url": s.site.URL + "/args?a=" + url.QueryEscape(p)},
		"select_option": {"selector": "#select", "values": []string{p}},
		"press":         {"key": p},
		"wait_for":      {"text": p, "timeoutMs": 10},
		"download_file": {"url": s.site.URL + "/args?b", "suggestedName": p},
		"storage":       {"action": "set", "area": "local", "key": "k", "value": p},
		"cookies":       {"action": "set", "name": "k", "value": p},
		"eval":          {"expression": "fetch('/args?c=' + encodeURIComponent('" + p + "'))"},
		"get_text":      {"selector": p},
		"fill_form":     {"fields": map[string]any{p: "x"}},
	} {
		s.attack(tool)
		args["tabId"] = tab
		s.result(tool, args)
	}
	s.call(t, "click", map[string]any{"tabId": tab, "selector": "button"})
	s.call(t, "handle_dialog", map[string]any{"tabId": tab, "accept": true, "promptText": p})
	s.call(t, "tabs_list", nil, p) // the title
	for _, path := range []string{"/args?a=", "/args?c="} {
		if !s.site.got(path + url.QueryEscape(p)) {
			t.Errorf("%s was not requested with the placeholder", path)
		}
	}
}

func (s *secretsTest) unknownSecrets(t *testing.T) {
	s.site.page("/text", `<input id=text oninput="fetch('/typed?' + encodeURIComponent(this.value))">`)
	tab := s.open("/text")
	clear := func(text string, want ...string) {
		t.Helper()
		s.call(t, "type", map[string]any{"tabId": tab, "selector": "#text", "text": text, "clear": true}, want...)
	}
	clear("{{bank.password}}", "secret {{bank.password}} not found", "typed as it is")
	s.site.await(t, "/typed?"+url.QueryEscape("{{bank.password}}"))
	clear("a {{shop.phone}}", "secret {{shop.phone}} not found")
	clear(`\{{shop.password}}`)
	s.site.await(t, "/typed?"+url.QueryEscape("{{shop.password}}"))
	clear(`{{ shop.password }} {{x}}`)
	s.site.await(t, "/typed?"+url.PathEscape("{{ shop.password }} {{x}}"))
}

// login opens the login page and enters the secrets.
func (s *secretsTest) login() (tab string) {
	s.t.Helper()
	tab = s.open("/login")
	s.enter(tab)
	return tab
}

func (s *secretsTest) enter(tab string) {
	s.t.Helper()
	s.call(s.t, "fill_form", map[string]any{"tabId": tab, "fields": map[string]any{"#user": "{{shop.username}}", "#password": "{{shop.password}}", "#code": "{{shop.totp}}"}}, "filled 3 fields")
}

func (s *secretsTest) scriptsAfter(t *testing.T) {
	s.site.page("/login", loginForm+`<a id=open href="/child" target=_blank rel=opener>Open</a>`+reports)
	s.site.page("/child", "<p>Child</p>")
	tab := s.open("/login")
	s.call(t, "click", map[string]any{"tabId": tab, "selector": "#open"})
	s.enter(tab)
	var tabs struct {
		Tabs []struct{ TabID, URL string }
	}
	json.Unmarshal([]byte(asJSON(s.result("tabs_list", nil).StructuredContent)), &tabs)
	related := []string{tab}
	for _, x := range tabs.Tabs {
		if strings.HasSuffix(x.URL, "/child") {
			related = append(related, x.TabID)
		}
	}
	if len(related) != 2 {
		t.Fatalf("tabs: %+v", tabs)
	}
	denied := func(tab string) {
		t.Helper()
		for _, tool := range []string{"eval", "wait_for", "run_script"} {
			s.attack(tool)
		}
		s.refused(t, "POLICY_DENIED", "eval", map[string]any{"tabId": tab, "expression": "document.title"}, "a secret was typed", "until these tabs are closed")
		s.refused(t, "POLICY_DENIED", "wait_for", map[string]any{"tabId": tab, "expression": "true"}, "a secret was typed")
		res := s.result("run_script", map[string]any{"script": "return eval({tabId: " + asJSON(tab) + ", expression: '1'})"})
		if text := asJSON(res); !strings.Contains(text, "POLICY_DENIED") {
			t.Errorf("run_script: %s", text)
		}
	}
	for _, tab := range related {
		denied(tab)
	}
	s.call(t, "navigate", map[string]any{"tabId": tab, "url": s.site.URL + "/child"})
	denied(tab)
	s.call(t, "back", map[string]any{"tabId": tab})
	denied(tab)
	s.call(t, "tab_close", map[string]any{"tabId": tab})
	denied(related[1])
	s.call(t, "eval", map[string]any{"tabId": s.open("/login"), "expression": "1 + 1"}, "2")
}

func (s *secretsTest) scriptsBefore(t *testing.T) {
	for _, script := range []map[string]any{
		{"expression": "addEventListener('input', (e) => { document.title = [...e.target.value].reverse().join('') }, true)"},
		{"expression": "1"},
	} {
		s.attack(script["expression"].(string))
		tab := s.open("/login")
		script["tabId"] = tab
		s.call(t, "eval", script)
		s.denies(tab, "#password", "a script of a client has run")
		s.call(t, "navigate", map[string]any{"tabId": tab, "url": s.site.URL + "/login"})
		s.denies(tab, "#password", "a script of a client has run")
	}
	tab := s.open("/login")
	s.call(t, "wait_for", map[string]any{"tabId": tab, "expression": "document.addEventListener('input', (e) => { document.title = e.target.value.length }) || true"})
	s.denies(tab, "#password", "a script of a client has run")
}

// batchScripts runs scripts outside of pages: they get masked results, too.
func (s *secretsTest) batchScripts(t *testing.T) {
	s.site.page("/echo", "<p id=p></p><input id=password type=password oninput=\"document.getElementById('p').textContent = 'It is ' + this.value + '!'\">")
	tab := s.open("/echo")
	s.set("shop.other", "Pm4!tRw8^yZ")
	res := s.result("run_script", map[string]any{"script": `
type({tabId: ` + asJSON(tab) + `, selector: '#password', text: '{{shop.password}}'});
const text = get_text({tabId: ` + asJSON(tab) + `}).text ?? JSON.stringify(get_text({tabId: ` + asJSON(tab) + `}));
print('length ' + text.length + ' ' + [...text].reverse().join('-'));
return snapshot({tabId: ` + asJSON(tab) + `})`})
	text := asJSON(res)
	if res.IsError || !strings.Contains(text, "!-•-•-•-•- -s-i") {
		t.Errorf("run_script: %s", text)
	}
	res = s.result("batch", map[string]any{"calls": []map[string]any{
		{"tool": "type", "args": secretArgs(tab, "#password", "{{shop.password}}")}, {"tool": "get_text", "args": map[string]any{"tabId": tab}}}})
	t.Log(asJSON(res))
}

// shownValues has a page that shows the password in many forms.
func (s *secretsTest) shownValues(t *testing.T) {
	quoted := html.EscapeString(testPassword)
	hexed, sixtyFour := hex.EncodeToString([]byte(testPassword)), base64.StdEncoding.EncodeToString([]byte("ab"+testPassword))
	s.site.page("/shown", `<title>T `+quoted+`</title><h1>Heading `+quoted+`</h1><p>upper <span style="text-transform: uppercase">`+quoted+`</span></p>
<a href="/p?v=`+url.QueryEscape(testPassword)+`">Link `+quoted[:6]+`</a><p>`+hexed+`</p><p>`+strings.ToUpper(hexed)+`</p><p>`+sixtyFour+`</p><p data-v="`+quoted+`">`+url.PathEscape(testPassword)+`</p>
<img alt="`+quoted+`"><input value="`+quoted+`"><textarea>`+quoted+`</textarea><button>`+quoted+`</button><script>
localStorage.setItem('p', `+asJSON(testPassword)+`); document.cookie = 'p=' + encodeURIComponent(`+asJSON(testPassword)+`);
history.replaceState(null, '', '#' + encodeURIComponent(`+asJSON(testPassword)+`));
</script>`)
	s.login()
	tab := s.open("/shown")
	forms := []string{hexed, strings.ToUpper(hexed), sixtyFour, sixtyFour[4:12], url.QueryEscape(testPassword), url.PathEscape(testPassword), strings.ToUpper(testPassword), quoted}
	for tool, args := range map[string]map[string]any{
		"snapshot": {}, "get_text": {}, "get_html": {}, "read_as_markdown": {}, "extract_links": {}, "tabs_list": nil, "storage": {"action": "get", "area": "local", "values": true}, "cookies": {"action": "get", "values": true}, "network_requests": {},
		"eval": {"expression": "({[document.title]: document.body.textContent, n: [document.title.split('')]})"}, "wait_for": {"text": "Heading"}, "chrome_status": nil,
	} {
		if args != nil {
			args["tabId"] = tab
		}
		text := unescaped(s.result(tool, args))
		for _, form := range forms {
			if strings.Contains(text, form) {
				t.Errorf("%s shows %s:\n%s", tool, form, text)
			}
		}
		if (tool == "snapshot" || tool == "get_text" || tool == "get_html" || tool == "eval") && !strings.Contains(text, "••••") {
			t.Errorf("%s shows nothing masked:\n%s", tool, text)
		}
	}
	for tool, file := range map[string]string{"network_requests": "n.json", "get_html": "a.html", "snapshot": "s.txt", "read_as_markdown": "m.md", "eval": "e.json"} {
		args := map[string]any{"tabId": tab, "file": file}
		if tool == "eval" {
			args["expression"] = "[document.body.textContent, {[document.title]: 1}]"
		}
		s.call(t, tool, args, "saved")
	}
	saved := 0
	filepath.WalkDir(filepath.Join(s.data, "output"), func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			saved++
			data, _ := os.ReadFile(path)
			s.wantNothing(path, string(data))
			for _, form := range forms {
				if strings.Contains(string(data), form) {
					t.Errorf("%s has %s", path, form)
				}
			}
			if strings.HasSuffix(path, ".json") && !json.Valid(data) {
				t.Errorf("%s is not JSON: %s", path, data)
			}
		}
		return nil
	})
	if saved != 5 {
		t.Errorf("%d files were saved", saved)
	}
}

// partsOfValues has a page that shows the password, also as text in which Markdown escapes characters.
// The client reads it in parts that are too short to be masked.
func (s *secretsTest) partsOfValues(t *testing.T) {
	const punctuated = "ab_cd*ef_gh*ij"
	s.set("shop.punctuated", punctuated)
	s.site.page("/parts", "<p>It is "+html.EscapeString(testPassword)+" for you.</p><p>Or "+strings.ReplaceAll(punctuated, "*", "&shy;*")+" too.</p>")
	tab := s.open("/login")
	s.call(t, "type", secretArgs(tab, "#password", "{{shop.password}}"))
	s.call(t, "type", secretArgs(tab, "#password", "{{shop.punctuated}}"))
	s.call(t, "navigate", map[string]any{"tabId": tab, "url": s.site.URL + "/parts"})
	for _, tool := range []string{"read_as_markdown", "get_text", "get_html", "snapshot"} {
		s.attack(tool)
		args := map[string]any{"tabId": tab}
		text := regexp.MustCompile(`page [a-z2-7]{6}\b`).ReplaceAllString(unescaped(s.result(tool, args)), "page") // without the random word of the fence
		for _, part := range []string{"b_c", "d*e", `b\_c`, "cd", "gh"} {
			if strings.Contains(text, part) {
				t.Errorf("%s contains %q: %s", tool, part, text)
			}
		}
		var all strings.Builder
		for i := 0; i < 60; i += 3 {
			if tool == "read_as_markdown" {
				args["offset"], args["maxChars"] = i, 3
			} else {
				args["maxChars"] = i + 1
			}
			var content struct{ Content, Markdown, Text, HTML string }
			json.Unmarshal([]byte(asJSON(s.result(tool, args).StructuredContent)), &content)
			all.WriteString(content.Content + content.Markdown + content.Text + content.HTML)
		}
		for i := 0; i+2 <= len(testPassword) && tool != "snapshot"; i++ {
			if part := testPassword[i : i+2]; strings.Contains(all.String(), part) {
				t.Errorf("%s in parts contains %q: %s", tool, part, all.String())
			}
		}
		if !strings.Contains(all.String(), "for you") && tool == "read_as_markdown" {
			t.Errorf("%s in parts: %s", tool, all.String())
		}
	}
}

// foundParts has a page that shows the password in a long text, of which find shows the part around a
// match: the client chooses where it begins.
func (s *secretsTest) foundParts(t *testing.T) {
	var text strings.Builder
	for i := range 1000 {
		if i == 500 {
			text.WriteString(testPassword)
		}
		fmt.Fprintf(&text, "w%04d ", i)
	}
	long := text.String()
	s.site.page("/long", "<p>"+html.EscapeString(long)+"</p>")
	tab := s.open("/login")
	s.call(t, "type", secretArgs(tab, "#password", "{{shop.password}}"))
	s.call(t, "navigate", map[string]any{"tabId": tab, "url": s.site.URL + "/long"})
	for i := range len(testPassword) {
		s.attack("find")
		at := strings.Index(long, testPassword) + i + 500 // a quarter of the part is before the match
		for _, chars := range []int{25, 30, 35, 40, 45, 50, 60, 70, 80, 90, 100, 120, 150, 600} {
			shown := unescaped(s.result("snapshot", map[string]any{"tabId": tab, "find": long[at : at+12], "maxChars": chars}))
			for k := 3; k+2 <= len(testPassword); k++ {
				if part := testPassword[k : k+2]; strings.Contains(shown, part) {
					t.Errorf("find %s with %d characters shows %q: %s", long[at:at+12], chars, part, shown)
				}
			}
		}
	}
}

// unescaped returns a result as JSON without escapes of HTML.
func unescaped(res *sdk.CallToolResult) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.Encode(res)
	return b.String()
}

// reportedValues has a page that passes the password to what the browser reports.
func (s *secretsTest) reportedValues(t *testing.T) {
	s.site.page("/report", `<input id=password type=password><a id=save download href="data:text/plain,x">Save</a><script>
const field = document.getElementById('password');
field.addEventListener('input', () => {
	const v = field.value;
	console.log('it is', v, {v}); console.error(v);
	fetch('/echo?v=' + encodeURIComponent(v), {method: 'POST', body: v}).then((r) => r.text()).then((t) => { window.t = t; document.title = 'echoed'; });
	setTimeout(() => { throw new Error('no ' + v); });
	document.getElementById('save').download = v + '.txt';
	document.getElementById('save').href = '/echo?file=' + encodeURIComponent(v);
	Object.defineProperty(field, 'value', {get() { throw new Error(v) }, set() { throw new Error(v) }});
});
</script><button id=alert onclick="alert(Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').get.call(field))">Alert</button>`)
	s.site.page("/echo", "<p>You sent $BODY.</p>")
	tab := s.open("/report")
	s.call(t, "type", secretArgs(tab, "#password", "{{shop.password}}"))
	s.call(t, "type", secretArgs(tab, "#password", "{{shop.password}}")) // the getter throws
	s.site.await(t, "/echo?v="+url.QueryEscape(testPassword))
	for _, tool := range []string{"console_messages", "page_errors", "network_requests"} {
		if text := unescaped(s.result(tool, map[string]any{"tabId": tab})); !strings.Contains(text, "••••") && tool != "network_requests" {
			t.Errorf("%s: %s", tool, text)
		}
	}
	var list struct{ Requests []struct{ ID, URL string } }
	json.Unmarshal([]byte(asJSON(s.result("network_requests", map[string]any{"tabId": tab}).StructuredContent)), &list)
	for _, r := range list.Requests {
		if strings.Contains(r.URL, "/echo") {
			s.refused(t, "POLICY_DENIED", "network_requests", map[string]any{"tabId": tab, "id": r.ID, "body": true}, "a secret was typed", "body")
		}
	}
	s.call(t, "click", map[string]any{"tabId": tab, "selector": "#alert"}, "••••")
	s.call(t, "handle_dialog", map[string]any{"tabId": tab, "accept": true}, "••••")
	s.call(t, "download_file", map[string]any{"tabId": tab, "selector": "#save"}, "••••")
}

// screenshots checks that screenshots hide the fields and that a PDF is denied.
func (s *secretsTest) screenshots(t *testing.T) {
	tab := s.login()
	for _, selector := range []string{"#code", "#user", "#password"} {
		res := s.result("screenshot", map[string]any{"tabId": tab, "selector": selector})
		var img image.Image
		for _, c := range res.Content {
			if c, ok := c.(*sdk.ImageContent); ok {
				var err error
				if img, _, err = image.Decode(bytes.NewReader(c.Data)); err != nil {
					t.Fatal(err)
				}
			}
		}
		if img == nil {
			t.Fatalf("no image: %s", asJSON(res))
		}
		colors := map[string]int{}
		b := img.Bounds().Inset(2)
		for y := b.Min.Y; y < b.Max.Y; y++ {
			for x := b.Min.X; x < b.Max.X; x++ {
				r, g, b, _ := img.At(x, y).RGBA()
				colors[fmt.Sprint(r>>8, g>>8, b>>8)]++
			}
		}
		if len(colors) != 1 || colors["64 64 64"] == 0 {
			t.Errorf("%s has the colors %v", selector, colors)
		}
	}
	s.refused(t, "POLICY_DENIED", "save_pdf", map[string]any{"tabId": tab}, "PDF")
}

// clipboard copies the fields with the keys, and pastes into another one.
func (s *secretsTest) clipboard(t *testing.T) {
	s.site.page("/copy", loginForm+`<input id=free value="free text"><input id=target oninput="fetch('/pasted?' + this.value)">`)
	tab := s.open("/copy")
	s.enter(tab)
	paste := func(from, keys string) {
		t.Helper()
		s.call(t, "press", map[string]any{"tabId": tab, "selector": from, "key": "Control+a"})
		s.call(t, "press", map[string]any{"tabId": tab, "selector": from, "key": keys})
		s.call(t, "press", map[string]any{"tabId": tab, "selector": "#target", "key": "Control+v"})
	}
	paste("#free", "Control+c")
	s.site.await(t, "/pasted?free%20text")
	for _, from := range []string{"#code", "#user", "#password"} {
		paste(from, "Control+c")
		paste(from, "Control+x")
	}
	s.call(t, "drag", map[string]any{"tabId": tab, "selector": "#code", "toSelector": "#target"})
	// On Linux, the middle button pastes what is selected.
	for _, key := range []string{"Control+a", "Shift+Home"} {
		for _, from := range []string{"#code", "#user", "#password"} {
			s.attack("selection with " + key)
			s.call(t, "press", map[string]any{"tabId": tab, "selector": from, "key": key})
			s.call(t, "click", map[string]any{"tabId": tab, "selector": "#target", "button": "middle"})
		}
	}
	s.call(t, "click", map[string]any{"tabId": tab, "selector": "#code", "clickCount": 2})
	s.call(t, "click", map[string]any{"tabId": tab, "selector": "#target", "button": "middle"})
	s.site.mu.Lock()
	defer s.site.mu.Unlock()
	for _, r := range s.site.received {
		if _, value, ok := strings.Cut(r, "/pasted?"); ok && strings.Trim(strings.ReplaceAll(value, "free%20text", ""), " ") != "" {
			t.Errorf("pasted: %s", r)
		}
	}
}

// selectorGuesses has a page that sets the attribute, as some frameworks do.
func (s *secretsTest) selectorGuesses(t *testing.T) {
	s.site.page("/attribute", `<input id=password type=password oninput="this.setAttribute('value', this.value)">`)
	tab := s.open("/attribute")
	s.call(t, "wait_for", map[string]any{"tabId": tab, "selector": "#password:not([value^='K'])"})
	s.call(t, "type", secretArgs(tab, "#password", "{{shop.password}}"))
	for _, selector := range []string{`#password[value^="K"]`, `[ VALUE ~= K]`, `input:not([value*="w7"])`, `[val\75 e^=K]`, `[/**/value/**/$=X]`, `[*|value="x"]`, `body:has([value^=K])`} {
		s.attack(selector)
		s.refused(t, "POLICY_DENIED", "wait_for", map[string]any{"tabId": tab, "selector": selector}, "tests the value")
		s.refused(t, "POLICY_DENIED", "get_text", map[string]any{"tabId": tab, "selector": selector}, "tests the value")
	}
	for _, selector := range []string{`//input[starts-with(@value, "K")]`, `xpath=id("password")[contains(attribute ::*, "w7")]`, `body >> ..//*[@ value="x"]`, `(//*[@*[name()="value"]="x"])[1]`} {
		s.attack(selector)
		s.refused(t, "POLICY_DENIED", "wait_for", map[string]any{"tabId": tab, "selector": selector}, "tests attributes")
		s.refused(t, "POLICY_DENIED", "get_text", map[string]any{"tabId": tab, "selector": selector}, "tests attributes")
	}
	for _, selector := range []string{"[id=password][type=password]", "//body/input[1]"} {
		s.call(t, "wait_for", map[string]any{"tabId": tab, "selector": selector})
	}
}

// widePermissions makes the file readable for others while the program runs.
func (s *secretsTest) widePermissions(t *testing.T) {
	tab := s.open("/login")
	file := filepath.Join(s.data, "secrets.json")
	os.Chmod(file, 0o644)
	defer os.Chmod(file, 0o600)
	s.refused(t, "POLICY_DENIED", "type", secretArgs(tab, "#password", "{{shop.password}}"), "secrets.json may be read by others (mode 0644)", "chmod 600")
	s.refused(t, "POLICY_DENIED", "secrets_list", nil, "mode 0644")
	s.call(t, "type", secretArgs(tab, "#comment", "plain text"))
}
