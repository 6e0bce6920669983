package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/extension"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
)

// handoverSite serves a page with a login form, whose page copies what is entered.
func handoverSite(t *testing.T) *httptest.Server {
	t.Helper()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<title>Login</title><h1>Login</h1>
			<label>Name <input id="name" value="given"></label><label>Code <input id="code"></label>
			<p id="copy">nothing yet</p>
			<script>
				const code = document.getElementById('code');
				code.oninput = () => { document.getElementById('copy').textContent = 'You typed ' + code.value; console.log('typed ' + code.value); };
			</script>`)
	}))
	t.Cleanup(site.Close)
	return site
}

// typeInto enters text with the keyboard, as the user does.
func (b *userBrowser) typeInto(t *testing.T, page, selector, text string) {
	t.Helper()
	b.Eval(t, page, fmt.Sprintf("document.querySelector(%q).focus()", selector), nil)
	for _, c := range text {
		b.Call(t, page, "Input.dispatchKeyEvent", map[string]any{"type": "keyDown", "text": string(c)}, nil)
		b.Call(t, page, "Input.dispatchKeyEvent", map[string]any{"type": "keyUp"}, nil)
	}
}

// TestHandoverInPopup hands a page of the user's Chrome over, and answers in the extension popup: first
// that the user is done, then that they cannot do it.
func TestHandoverInPopup(t *testing.T) {
	site := handoverSite(t)
	b, data := sharedUserBrowser(t)
	s := startMCPWith(t, nil, nil, "--data", data, "--port=0", "--no-cdp-fallback", "--tools=core,people,devtools", "--allow-private=127.0.0.1/32", "--allow-domain=127.0.0.1")
	s.until(t, "no tab shared", "chrome_status", nil)
	s.call(t, "tab_new", map[string]any{"url": site.URL + "/login"})
	login := b.Find(t, "page", site.URL)
	s.call(t, "snapshot", nil, "given")

	asked := s.asksUser(t, "Enter the code\nfrom your phone.")
	var text string
	b.Popup(t, func(popup string) {
		b.holds(t, popup, fmt.Sprintf("document.getElementById('questions').textContent.includes('asks you to act on %s')", site.URL))
		b.holds(t, popup, "document.querySelector('#questions blockquote').textContent === 'Enter the code from your phone.'")
		var badge string
		b.Worker(t, "chrome.action.getBadgeText({})", &badge)
		if badge != "?" {
			t.Errorf("the badge is %q", badge)
		}
		var active bool
		b.Worker(t, fmt.Sprintf("chrome.tabs.query({active: true}).then((tabs) => tabs.some((t) => t.url.startsWith(%q)))", site.URL), &active)
		if !active {
			t.Error("the tab is not in front")
		}
		var shown int
		b.Worker(t, "chrome.notifications.getAll().then((all) => Object.keys(all).length)", &shown)
		if shown != 1 {
			t.Errorf("%d notifications", shown)
		}
		b.WithSession(t, login.ID, func(page string) { b.typeInto(t, page, "#code", "831942") })
		ctx, cancel := context.WithCancel(t.Context())
		held := make(chan string, 1)
		go func() {
			text, _, err := s.try(ctx, "get_text", nil)
			held <- fmt.Sprint(text, err)
		}()
		// A call that does not need the page is answered after the held one was received.
		s.call(t, "chrome_status", nil)
		select {
		case text := <-held:
			t.Errorf("a page that is handed over was read: %s", text)
		default:
		}
		cancel()
		<-held
		b.Click(t, popup, "#questions button", "Done")
		text = <-asked
		b.holds(t, popup, "document.getElementById('asking').hidden")
		await.Until(t, "the notification to be removed", func() bool {
			b.Worker(t, "chrome.notifications.getAll().then((all) => Object.keys(all).length)", &shown)
			return shown == 0
		})
	})
	wants(t, "ask_user", text, []string{"the user is done", site.URL + "/login", "Login"})
	for _, tool := range []string{"snapshot", "get_text", "get_html", "read_as_markdown", "console_messages"} {
		text, _, err := s.try(t.Context(), tool, nil)
		if err != nil || strings.Contains(text, "831942") {
			t.Errorf("%s: %v %s", tool, err, text)
		}
	}
	s.call(t, "get_text", nil, "You typed ••••")
	testNotificationClick(t, b, s, site.URL)
	s.end(t)
}

// answerAttacks is a script that tries to answer a question of the extension with the id ours, to open the
// page that shows it, and to get the keys of the user. It resolves to the outcomes.
const answerAttacks = `(async (ours, question) => {` + attemptFunction + `
	const answer = { type: 'action', id: 1, action: 'handover', question, answer: 'done' };
	await attempt('port', () => new Promise((resolve, reject) => {
		const port = chrome.runtime.connect(ours, { name: 'chrome-mcp-page' });
		port.onMessage.addListener(resolve);
		port.onDisconnect.addListener(() => reject(new Error(chrome.runtime.lastError?.message ?? 'disconnected')));
		port.postMessage(answer);
	}));
	await attempt('message', () => chrome.runtime.sendMessage(ours, answer));
	await attempt('module', () => import('chrome-extension://' + ours + '/page_port.js').then((m) => Object.keys(m)));
	await attempt('frame', async () => {
		const frame = Object.assign(document.createElement('iframe'), { src: 'chrome-extension://' + ours + '/popup.html' });
		await new Promise((resolve) => {
			frame.onload = resolve;
			document.body.append(frame);
		});
		frame.contentWindow.postMessage(answer, '*');
		return frame.contentDocument.title;
	});
	const opened = open('chrome-extension://' + ours + '/popup.html');
	opened.postMessage(answer, '*');
	opened.close();
	document.title = 'chrome-mcp: Done';
	focus();
	document.body.insertAdjacentHTML('beforeend', '<dialog id=fake><button autofocus>Done</button></dialog>');
	document.getElementById('fake').showModal();
	document.querySelector('#fake button').click();
	return outcomes;
})(%q, %q)`

// TestHandoverAttacks lets the page that is handed over try to answer the question. The answer of the user
// counts, which is another one.
func TestHandoverAttacks(t *testing.T) {
	site := handoverSite(t)
	b := newUserBrowser(t)
	b.others = []string{writeOtherExtension(t)}
	data := filepath.Join(t.TempDir(), "data")
	b.register(t, data)
	s := startMCPWith(t, nil, nil, "--data", data, "--port=0", "--no-cdp-fallback", "--tools=core,people", "--allow-private=127.0.0.1/32", "--allow-domain=127.0.0.1")
	b.open()
	s.until(t, "no tab shared", "chrome_status", nil)
	s.call(t, "tab_new", map[string]any{"url": site.URL + "/login"})
	page := b.Find(t, "page", site.URL)
	asked := s.asksUser(t, "Solve the captcha.")
	const shown = "document.querySelector('#questions blockquote')?.textContent === 'Solve the captcha.'"
	var question string
	b.Popup(t, func(popup string) {
		b.holds(t, popup, shown)
		b.Eval(t, popup, `new Promise((resolve) => chrome.runtime.connect({ name: 'chrome-mcp-page' }).onMessage.addListener((m) => m.type === 'state' && resolve(m.state.questions[0].id)))`, &question)
	})
	var outcomes map[string]string
	b.EvalInTarget(t, page.ID, fmt.Sprintf(answerAttacks, extension.ID(), question), &outcomes)
	if len(outcomes) != 4 {
		t.Errorf("the page made %d attempts, want 4", len(outcomes))
	}
	for name, outcome := range outcomes {
		if strings.HasPrefix(outcome, "answered") {
			t.Errorf("%s: %s", name, outcome)
		}
	}
	b.Popup(t, func(popup string) {
		b.holds(t, popup, shown+" && document.querySelectorAll('#questions blockquote').length === 1")
		b.Click(t, popup, "#questions button", "Can't do it")
		wants(t, "ask_user", await.Receive(t, "the answer", asked), []string{"the user cannot do it", site.URL + "/login"})
	})
	s.end(t)
}

// asksUser calls ask_user. The channel receives its result.
func (s *mcpServer) asksUser(t *testing.T, message string) <-chan string {
	asked := make(chan string, 1)
	go func() {
		text, _, err := s.try(t.Context(), "ask_user", map[string]any{"message": message})
		if err != nil {
			text = err.Error()
		}
		asked <- text
	}()
	return asked
}

// testNotificationClick closes the popup without an answer. Later, a click on the notification shows
// the tab and the popup, which still has the question.
func testNotificationClick(t *testing.T, b *userBrowser, s *mcpServer, site string) {
	asked := s.asksUser(t, "Solve the captcha.")
	const shown = "document.querySelector('#questions blockquote')?.textContent === 'Solve the captcha.'"
	b.Popup(t, func(popup string) { b.holds(t, popup, shown) })
	s.call(t, "chrome_status", nil)
	select {
	case text := <-asked:
		t.Fatalf("closing the popup answers the question: %s", text)
	default:
	}
	var badge, notification string
	b.Worker(t, "chrome.action.getBadgeText({})", &badge)
	b.Worker(t, "chrome.notifications.getAll().then((all) => Object.keys(all).join())", &notification)
	if badge != "?" || notification == "" {
		t.Fatalf("after the popup was closed, the badge is %q, and the notification %q", badge, notification)
	}

	b.NewTab(t, site+"/other") // the user looks something up
	b.Worker(t, fmt.Sprintf("chrome.notifications.onClicked.dispatch(%q)", notification), nil)
	popup := b.Find(t, "page", "/popup.html")
	var state struct {
		Active        string
		Notifications int
	}
	await.Until(t, "the tab to be shown and the notification to be removed", func() bool {
		b.Worker(t, `Promise.all([chrome.tabs.query({ active: true, lastFocusedWindow: true }), chrome.notifications.getAll()])
			.then(([[tab], all]) => ({ Active: tab?.url ?? '', Notifications: Object.keys(all).length }))`, &state)
		return state.Active == site+"/login" && state.Notifications == 0
	})
	b.WithSession(t, popup.ID, func(popup string) {
		b.holds(t, popup, shown)
		b.Click(t, popup, "#questions button", "Can't do it")
		wants(t, "ask_user", await.Receive(t, "the answer", asked), []string{"the user cannot do it", site + "/login"})
		b.holds(t, popup, "document.getElementById('asking').hidden")
	})
}
