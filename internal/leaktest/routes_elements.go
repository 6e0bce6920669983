package leaktest

// Elements that load automatically.
var elements = []Route{
	{Name: "img", Kind: Load, body: `<img src="{T}/x.gif">`},
	{Name: "img-srcset", Kind: Load, body: `<img srcset="{T}/x.gif 1x, {T}/y.gif 2x">`},
	{Name: "img-lazy", Kind: Load, body: `<img loading=lazy width=9 height=9 src="{T}/x.gif">`},
	{Name: "picture-source", Kind: Load, body: `<picture><source srcset="{T}/x.gif"><img></picture>`},
	{Name: "img-redirect", Kind: Load, body: `<img src="{V}/hop.gif">`, files: map[string]file{"hop.gif": redirect(302, "{T}/x.gif")}},
	{Name: "img-redirect-twice", Kind: Load, body: `<img src="{Y}/hop.gif">`, files: map[string]file{
		"hop.gif": redirect(301, "{V}/hop2.gif"), "hop2.gif": redirect(307, "{T}/x.gif")}},
	{Name: "script", Kind: Load, body: `<script src="{T}/x.js"></script>`},
	{Name: "script-redirect", Kind: Load, body: `<script src="{V}/hop.gif"></script>`, files: map[string]file{"hop.gif": redirect(303, "{T}/x.js")}},
	{Name: "script-module", Kind: Load, body: `<script type=module src="{T}/x.js"></script>`},
	{Name: "script-import", Kind: Load, script: `await import('{T}/x.js').catch(() => 0);`},
	{Name: "script-importmap", Kind: Load, head: `<script type=importmap>{"imports": {"far": "{T}/x.js"}}</script>`, script: `await import('far').catch(() => 0);`},
	{Name: "link-stylesheet", Kind: Load, head: `<link rel=stylesheet href="{T}/x.css">`},
	{Name: "link-preload", Kind: Load, head: `<link rel=preload as=image href="{T}/x.gif">`},
	{Name: "link-modulepreload", Kind: Load, head: `<link rel=modulepreload href="{T}/x.js">`},
	{Name: "link-prefetch", Kind: Load, head: `<link rel=prefetch href="{T}/x.js">`},
	{Name: "link-preconnect", blockedWhenAllowed: both, Kind: Load, head: `<link rel=preconnect href="{T}/">`},
	{Name: "link-dns-prefetch", Kind: Name, head: `<link rel=dns-prefetch href="//{ID}.names.test/">`},
	{Name: "link-icon", Kind: Load, head: `<link rel=icon href="{T}/x.gif">`},
	{Name: "link-manifest", Kind: Load, head: `<link rel=manifest href="{T}/x.json">`},
	{Name: "link-dictionary", Kind: Load, head: `<link rel=compression-dictionary href="{T}/x.js" crossorigin>`},
	{Name: "link-header", Kind: Load, headers: map[string]string{"Link": "<{T}/x.js>; rel=preload; as=script"}},
	{Name: "iframe", Kind: Load, body: `<iframe src="{T}/x"></iframe>`},
	{Name: "iframe-redirect", Kind: Load, body: `<iframe src="{Y}/hop"></iframe>`, files: map[string]file{"hop": redirect(302, "{T}/x")}},
	{Name: "iframe-srcdoc-img", Kind: Load, body: `<iframe srcdoc="<img src='{T}/x.gif'>"></iframe>`},
	{Name: "iframe-sandbox-img", Kind: Load, body: `<iframe sandbox srcdoc="<img src='{T}/x.gif'>"></iframe>`},
	{Name: "iframe-data-fetch", Kind: Load, body: `<iframe src="data:text/html,<script>fetch('{T}/x',{mode:'no-cors'})</script>"></iframe>`},
	{Name: "iframe-blob-img", Kind: Load, script: `
		const f = document.createElement('iframe');
		f.src = URL.createObjectURL(new Blob(['<img src="{T}/x.gif">'], {type: 'text/html'}));
		await new Promise((r) => { f.onload = r; document.body.append(f); });`},
	{Name: "iframe-ally-img", Kind: Load, body: `<iframe src="{Y}/inner"></iframe>`, inner: `<img src="{T}/x.gif">`},
	{Name: "frameset", Kind: Load, body: `<iframe src="{V}/frames"></iframe>`, files: map[string]file{
		"frames": text("text/html", `<!doctype html><frameset cols="*"><frame src="{T}/x"></frameset>`)}},
	{Name: "object", Kind: Load, body: `<object data="{T}/x"></object>`},
	{Name: "embed", Kind: Load, body: `<embed src="{T}/x" type="text/html">`},
	{Name: "embed-pdf", Kind: Load, body: `<embed src="{T}/x.pdf" type="application/pdf" width=300 height=300>`},
	{Name: "iframe-pdf", Kind: Load, body: `<iframe src="{T}/x.pdf" width=300 height=300></iframe>`},
	{Name: "video", Kind: Load, body: `<video src="{T}/x.mp4" preload=auto></video>`},
	{Name: "video-source", Kind: Load, body: `<video preload=auto><source src="{T}/x.mp4" type="video/mp4"></video>`},
	{Name: "video-poster", Kind: Load, body: `<video poster="{T}/x.gif"></video>`},
	{Name: "video-track", Kind: Load, body: `<video crossorigin><track default kind=subtitles src="{T}/x.vtt"></video>`, script: `document.querySelector('track').track.mode = 'showing';`},
	{Name: "audio", Kind: Load, body: `<audio src="{T}/x.mp3" preload=auto></audio>`},
	{Name: "input-image", Kind: Load, body: `<input type=image src="{T}/x.gif">`},
	{Name: "body-background", Kind: Load, body: `<table background="{T}/x.gif"><td>x</table>`},
	{Name: "svg-image", Kind: Load, body: `<svg><image href="{T}/x.gif" width=9 height=9 /></svg>`},
	{Name: "svg-use", Kind: Load, body: `<svg><use href="{T}/x.svg#g"/></svg>`},
	{Name: "svg-feimage", Kind: Load, body: `<svg width=9 height=9><filter id=f><feImage href="{T}/x.gif"/></filter><rect width=9 height=9 filter="url(#f)"/></svg>`},
	{Name: "xml-stylesheet", Kind: Load, body: `<iframe src="{V}/x.xml"></iframe>`, files: map[string]file{
		"x.xml": text("text/xml", `<?xml version="1.0"?><?xml-stylesheet type="text/css" href="{T}/x.css"?><a>x</a>`)}},
}

// Loads of style sheets.
var styles = []Route{
	{Name: "css-background", Kind: Load, head: `<style>body { background: url("{T}/x.gif") }</style>`},
	{Name: "css-import", Kind: Load, head: `<style>@import url("{T}/x.css");</style>`},
	{Name: "css-font-face", Kind: Load, head: `<style>@font-face { font-family: far; src: url("{T}/x.woff2") } body { font-family: far }</style>`, body: "<p>words</p>",
		script: `await document.fonts.load('12px far').catch(() => 0);`},
	{Name: "css-cursor", Kind: Load, head: `<style>#go { cursor: url("{T}/x.gif"), auto }</style>`, gesture: true},
	{Name: "css-content", Kind: Load, head: `<style>p::before { content: url("{T}/x.gif") }</style>`, body: "<p>words</p>"},
	{Name: "css-list-style", Kind: Load, head: `<style>li { list-style-image: url("{T}/x.gif") }</style>`, body: "<ul><li>words</ul>"},
	{Name: "css-border-image", Kind: Load, head: `<style>p { border: 9px solid; border-image: url("{T}/x.gif") 1 }</style>`, body: "<p>words</p>"},
	{Name: "css-mask", Kind: Load, head: `<style>p { mask: url("{T}/x.gif") }</style>`, body: "<p>words</p>"},
	{Name: "css-image-set", Kind: Load, head: `<style>p { background: image-set("{T}/x.gif" 1x) }</style>`, body: "<p>words</p>"},
	{Name: "css-attribute", Kind: Load, body: `<p style="background: url({T}/x.gif)">words</p>`},
}
