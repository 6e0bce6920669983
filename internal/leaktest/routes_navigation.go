package leaktest

import (
	"io"
	"net/http"
)

// Navigations of the top document.
var navigations = []Route{
	{Name: "redirect-301", Kind: Document, files: map[string]file{"": reportTried(redirect(301, "{T}/x"))}},
	{Name: "redirect-302", Kind: Document, files: map[string]file{"": reportTried(redirect(302, "{T}/x"))}},
	{Name: "redirect-303", Kind: Document, files: map[string]file{"": reportTried(redirect(303, "{T}/x"))}},
	{Name: "redirect-307", Kind: Document, files: map[string]file{"": reportTried(redirect(307, "{T}/x"))}},
	{Name: "redirect-308", Kind: Document, files: map[string]file{"": reportTried(redirect(308, "{T}/x"))}},
	{Name: "redirect-twice", Kind: Document, files: map[string]file{"": redirect(302, "{Y}/hop"), "hop": reportTried(redirect(302, "{T}/x"))}},
	{Name: "refresh-header", Kind: Document, files: map[string]file{"": reportTried(func(v *visit, w http.ResponseWriter, _ *http.Request, _ int) {
		w.Header().Set("Refresh", v.fill("0;url={T}/x"))
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, "<!doctype html><title>refresh</title>")
	})}},
	{Name: "meta-refresh", Kind: Document, files: map[string]file{"": reportTried(text("text/html", `<!doctype html><title>x</title><meta http-equiv=refresh content="0;url={T}/x">`))}},
	{Name: "location-href", Kind: Document, script: `await tried(); location.href = '{T}/x';`},
	{Name: "location-replace", Kind: Document, script: `await tried(); location.replace('{T}/x');`},
	{Name: "location-http", Kind: Document, script: `await tried(); location.href = 'http://{A}/x';`},
	{Name: "navigation-api", Kind: Document, script: `await tried(); navigation.navigate('{T}/x');`},
	{Name: "history-back", Kind: Document, files: map[string]file{
		"": func(v *visit, w http.ResponseWriter, r *http.Request, n int) { // the second request redirects to the target
			if n > 1 {
				reportTried(redirect(302, "{T}/x"))(v, w, r, n)
				return
			}
			text("text/html", `<!doctype html><title>x</title><button id=go>Go</button><script>addEventListener('unload', () => 0); go.onclick = () => { location.href = '{V}/back' }</script>`)(v, w, r, n)
		},
		"back": text("text/html", `<!doctype html><title>back</title><script>history.back()</script>`),
	}, gesture: true},
	{Name: "reload", Kind: Document, files: map[string]file{
		"": func(v *visit, w http.ResponseWriter, r *http.Request, n int) {
			if n > 1 {
				reportTried(redirect(302, "{T}/x"))(v, w, r, n)
				return
			}
			text("text/html", `<!doctype html><title>x</title><script>onload = () => location.reload()</script>`)(v, w, r, n)
		},
	}},
	{Name: "link-click", Kind: Document, body: `<a href="{T}/x">a</a>`, script: `await tried(); document.querySelector('a').click();`},
	{Name: "area-click", Kind: Document, body: `<map><area shape=default href="{T}/x"></map>`, script: `await tried(); document.querySelector('area').click();`},
	{Name: "svg-link-click", Kind: Document, body: `<svg><a href="{T}/x"><text y=20>a</text></a></svg>`, script: `await tried(); document.querySelector('svg a').dispatchEvent(new MouseEvent('click', {bubbles: true, cancelable: true}));`},
	{Name: "form-get", Kind: Document, body: `<form action="{T}/x"><input name=a value=secret></form>`, script: `await tried(); document.forms[0].submit();`},
	{Name: "form-post", Kind: Document, body: `<form method=post action="{T}/x"><input name=a value=secret></form>`, script: `await tried(); document.forms[0].submit();`},
	{Name: "form-action", Kind: Document, body: `<form method=post action="{V}/next"><button formaction="{T}/x">b</button></form>`, script: `await tried(); document.querySelector('form button').click();`},
	{Name: "form-redirect", Kind: Document, body: `<form method=post action="{V}/hop"><input name=a value=secret></form>`, script: `await tried(); document.forms[0].submit();`, files: map[string]file{"hop": redirect(307, "{T}/x")}},
	{Name: "frame-top", Kind: Document, body: `<iframe src="{Y}/inner"></iframe>`, inner: `<button style="position: fixed; inset: 0; width: 100%" onclick="top.location.href = '{T}/x'">b</button>`, click: "iframe"},
	{Name: "frame-same-top", Kind: Document, body: `<iframe srcdoc="<script>onmessage = () => { top.location.href = '{T}/x' }</script>"></iframe>`, script: `await tried(); frames[0].postMessage('', '*');`},
	{Name: "download-attribute", Kind: Document, body: `<a download="x.bin" href="{T}/x.bin">a</a>`, script: `document.querySelector('a').click();`, gesture: true},
	{Name: "download-redirect", Kind: Document, body: `<a download="x.bin" href="{V}/hop">a</a>`, script: `document.querySelector('a').click();`, gesture: true, files: map[string]file{"hop": redirect(302, "{T}/x.bin")}},
	{Name: "download-navigation", Kind: Document, script: `await tried(); location.href = '{T}/x.bin';`},
}

// Tabs and popup windows that pages open.
var popups = []Route{
	{Name: "open", Kind: Document, gesture: true, script: `open('{T}/x');`},
	{Name: "open-noopener", Kind: Document, gesture: true, script: `open('{T}/x', '', 'noopener');`},
	{Name: "open-window", Kind: Document, gesture: true, script: `open('{T}/x', 'named', 'width=300,height=300');`},
	{Name: "open-redirect", Kind: Document, gesture: true, script: `open('{V}/hop');`, files: map[string]file{"hop": redirect(302, "{T}/x")}},
	{Name: "open-blank-location", Kind: Document, gesture: true, script: `const w = open('about:blank'); w.location.href = '{T}/x';`},
	{Name: "open-blank-write", Kind: Load, gesture: true, script: "const w = open('about:blank'); w.document.write(`<img src='{T}/x.gif'>`);"},
	{Name: "open-blob-location", Kind: Document, gesture: true, script: "open(URL.createObjectURL(new Blob([`<script>location.href = '{T}/x'</` + `script>`], {type: 'text/html'})));"},
	{Name: "open-then-location", Kind: Document, gesture: true, script: `open('{V}/inner');`, inner: `<script>location.href = '{T}/x'</script>`},
	{Name: "blank-target", Kind: Document, gesture: true, body: `<a target=_blank rel=opener href="{T}/x">a</a>`, script: `document.querySelector('a').click();`},
	{Name: "blank-target-noopener", Kind: Document, gesture: true, body: `<a target=_blank rel="noopener noreferrer" href="{T}/x">a</a>`, script: `document.querySelector('a').click();`},
	{Name: "blank-target-control", knownLeaks: attachedTabs, Kind: Document, gesture: true, body: `<a href="{T}/x">a</a>`, script: `document.querySelector('a').dispatchEvent(new MouseEvent('click', {ctrlKey: true, bubbles: true, cancelable: true}));`},
	{Name: "form-blank-post", Kind: Document, gesture: true, body: `<form target=_blank method=post action="{T}/x"><input name=a value=secret></form>`, script: `document.forms[0].submit();`},
	{Name: "popup-sandboxed-open", Kind: Document, gesture: true, body: sandboxed("allow-scripts allow-popups", "open('{T}/x')"), script: delegate},
	{Name: "popup-sandboxed-escaped", Kind: Document, gesture: true, body: sandboxed("allow-scripts allow-popups allow-popups-to-escape-sandbox", "open('{T}/x', '', 'noopener')"), script: delegate},
	{Name: "popup-sandboxed-link", Kind: Document, gesture: true, body: sandboxed("allow-scripts allow-popups allow-popups-to-escape-sandbox", "const a = Object.assign(document.createElement('a'), {href: '{T}/x', target: '_blank', rel: 'noopener'}); document.body.append(a); a.click()"), script: delegate},
	{Name: "popup-sandboxed-form", Kind: Document, gesture: true, body: sandboxed("allow-scripts allow-popups allow-forms", "const f = document.createElement('form'); f.action = '{T}/x'; f.method = 'post'; f.target = '_blank'; document.body.append(f); f.submit()"), script: delegate},
	{Name: "popup-data-frame", Kind: Document, gesture: true, body: `<iframe src="data:text/html,<body><script>onmessage = () => open('{T}/x')</script>"></iframe>`, script: delegate},
	{Name: "popup-ally-frame", Kind: Document, gesture: true, body: `<iframe src="{Y}/inner"></iframe>`, inner: `<body><script>onmessage = () => open('{T}/x')</script>`, script: delegate},
}

// sandboxed returns a sandboxed frame, which has an opaque origin. It runs script when it receives
// a message.
func sandboxed(allow, script string) string {
	return `<iframe sandbox="` + allow + `" srcdoc="<body><script>onmessage = () => { ` + script + ` }</script>"></iframe>`
}

// delegate sends a message to the page's frame, which then tries the route.
const delegate = `frames[0].postMessage('', '*');`

// Denied hosts of the same site.
var sameSite = []Route{
	{Name: "same-site-img", Kind: Load, sameSite: true, body: `<img src="{T}/x.gif">`},
	{Name: "same-site-iframe", Kind: Load, sameSite: true, body: `<iframe src="{T}/x"></iframe>`},
	{Name: "same-site-fetch", Kind: Load, sameSite: true, script: `await fetch('{T}/x', {mode: 'no-cors', credentials: 'include'}).catch(() => 0);`},
	{Name: "same-site-websocket", Kind: Load, sameSite: true, script: `await new Promise((r) => { const w = new WebSocket('wss://{A}/x'); w.onopen = w.onerror = r; });`},
	{Name: "same-site-location", Kind: Document, sameSite: true, script: `await tried(); location.href = '{T}/x';`},
	{Name: "same-site-open", Kind: Document, sameSite: true, gesture: true, script: `open('{T}/x');`},
}
