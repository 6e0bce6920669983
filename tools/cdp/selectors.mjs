// Compares the elements that selectors match in chrome-mcp with those in Playwright, on one page.
// Each line of stdout is {selector, ours, theirs}: the sorted ids of the elements, or an error.
//
//	node tools/cdp/selectors.mjs ENDPOINT
import { readFile } from "node:fs/promises";
import { chromium } from "playwright-core";

const html = `<!doctype html><html id=html><head id=head><title id=title>Selectors</title></head><body id=body>
<h1 id=h1>Welcome</h1>
<section id=s1 class=card><h2 id=h2>Lamp</h2><p id=p1>A <b id=b1>bright</b> desk lamp</p><button id=buy1>Buy</button><button id=more1 title="More about Lamp">More</button></section>
<section id=s2 class="card sale"><h2 id=h3>Chair</h2><p id=p2>On Sale  today</p><button id=buy2>Buy</button><button id=more2 hidden>More</button></section>
<section id=s3 class=card><div id=d3><h2 id=h4>Table</h2></div><button id=buy3>buy now</button></section>
<form id=form><label id=l1 for=email>Email address</label> <input id=email placeholder=you@example.com data-testid=email>
<label id=l2>Name <input id=name placeholder="Your name"></label> <span id=sp>Phone</span><input id=phone aria-labelledby="none sp"><input id=zip aria-label="Zip code" placeholder=12345>
<input id=send type=submit value="Send it"><input id=search type=search title="Search the site" aria-label=Search>
<select id=country aria-label=Country><option id=o1>Austria</option><option id=o2>Belgium</option></select>
<label id=l3 for=agree>I agree</label><input type=checkbox id=agree checked><input type=checkbox id=news aria-label=News></form>
<img id=i1 alt="Red lamp" src=data:,><img id=i2 alt="Blue chair" src=data:,>
<ul id=ul><li id=li1 class=row>One</li><li id=li2 class=row>Two</li><li id=li3 class=row>Three</li></ul>
<div id=dont>Don't stop</div><a id=next href=#>Next &gt;&gt;</a><div id=quoted>Say "yes"</div>
<div id=box class=outer><div id=inbox class=inner><em id=em>in a box</em></div></div>
<div id=host class=outer><span id=light class=x>slotted</span></div><div id=host2 class=outer></div>
<div id=panel data-testid=panel><div id=in1><i id=i>deep</i></div></div></body></html>`;

/** Adds shadow roots, in the page. */
function addShadowRoots() {
  const root = document.getElementById("host").attachShadow({ mode: "open" });
  root.innerHTML = "<div id=sd class=inner><p id=deep class=x>shadow text</p><slot id=slot></slot><button id=sb title=Shadow>Shadow save</button><div id=nested class=outer></div></div>";
  root.getElementById("nested").attachShadow({ mode: "open" }).innerHTML =
    "<div id=nd class=inner><button id=nb data-testid=inner>Nested save</button><label id=nl>Inner field<input id=ni></label></div>";
  document.getElementById("host2").attachShadow({ mode: "open" }).innerHTML = "<p id=q1 class=x>one</p><p id=q2 class=x>two</p>";
}

// Selectors with the same text in Playwright.
const same = `
.card | .card button | section > button | h2 + p | h2 ~ button | .row:nth-child(2n+1) | h1, .row, h2
.outer .outer button | .outer > .inner > button | #host > .inner | #host p.x, h1 | body > #host p | #deep + button | #deep ~ button | #host .x
:is(.outer .outer) button | .inner:has(button) | .outer:has(> .inner > button) | .outer:not(:has(.inner)) | p:not(.outer p) | .outer :is(p, button) | .outer > :not(p)
div:nth-child(2) * > .inner | .outer:not(:has-text("e")) | section:has(h2 + p) button | section:has(h2 ~ button + button) | #host .inner:has(+ x) | .inner:has(.outer button)
.card:has(h2) | .card:has(> h2) | .card:has-text("sale") | .card:has-text("LAMP") button | .card:not(:has-text("lamp")) | article:has-text("x") | :is(h1, h2):has-text("a")
.card:has(:text("bright")) | .card:has(button:visible) | button:visible | #form :visible | section:has(h2:has-text("Chair")) button | li:has-text('Two') | li:has-text("T\\77 o")
:nth-match(.row, 2) | :nth-match(.row:visible, 3) | :nth-match(.card button, 4) | :text("buy") | button:text("buy") | button:text-is("Buy") | button:text-matches("^buy", "i")
.outer:has-text("nested save") | #host:has-text("slotted") | *:has-text("Welcome") | div:has-text("in a  box") | :has-text("deep")
text=buy | text=bright desk | text="Buy" | text=/buy/ | text=/^buy now$/i | text=/BUY/i | text=Don't stop | text=Don't >> nth=0 | "Buy" | 'Buy' | text="Next >>" | text=say "yes"
text=save | text=Nested save | text=slotted | text=send it | text=on sale today | text=/^(one|two)$/i | text=nothing
xpath=//section/button | //section[2]/button | (//button)[1] | //li[last()] | //li >> .. | #li2 >> .. | #li2 >> xpath=following-sibling::li | .card >> //button | //p | #host >> //p | #sb >> ..
.card >> button | .card >> nth=1 | .card >> nth=-1 | .card >> nth=-2 | .card >> nth=9 | .card >> button >> nth=0 | .card >> nth=1 >> button | .card >> button >> visible=true
.card >> button >> visible=false | .card >> text=buy | section >> nth=0 >> text=more | #host >> button | #host >> .x | #host >> text=save | .outer >> .inner button | .outer >> .outer button
body >> .card button | #s1 >> body button | #s1 >> > button | #s1 >> :scope > button | #h2 >> + p | #s1 >> ~ section | .card >> .card button | div >> em | .outer >> > .inner
css=#h1 | css=.card >> css=button | section >> :nth-match(button, 2) | :is(section, body) >> :nth-match(button, 2) | :is(section, body) >> p:not(section p) | section >> nth=-1 >> :has-text("buy") | .card >> text=/^more$/i | div >> text=in a box | .outer >> .inner:has(> button)
role=button[name="Buy"] | role=button[name=/buy/i] | role=button[name=/^More$/] | role=listitem | role=listitem >> nth=1 | form >> role=textbox[name=/name/i] | role=heading[level=2]
role=checkbox[checked] | role=checkbox[checked=false] | .card:has-text("sale") >> role=button | #host >> role=button | role=img[name=/^red/i] | role=textbox | role=searchbox
`.split(/ \| |\n/).filter(Boolean);

// Prefixes that are methods in Playwright.
const methods = [
  ["label=email", (p) => p.getByLabel("email")], ["label=Email address", (p) => p.getByLabel("Email address")], ['label="Email address"', (p) => p.getByLabel("Email address", { exact: true })],
  ['label="Email"', (p) => p.getByLabel("Email", { exact: true })], ["label=/^email/i", (p) => p.getByLabel(/^email/i)], ["label=name", (p) => p.getByLabel("name")],
  ["label=phone", (p) => p.getByLabel("phone")], ["label=zip", (p) => p.getByLabel("zip")], ["label=/code$/", (p) => p.getByLabel(/code$/)], ["label=Inner field", (p) => p.getByLabel("Inner field")],
  ["label=search", (p) => p.getByLabel("search")], ["label=agree", (p) => p.getByLabel("agree")], ["form >> label=/e/", (p) => p.locator("form").getByLabel(/e/)], ["label=c", (p) => p.getByLabel("c")],
  ["placeholder=name", (p) => p.getByPlaceholder("name")], ['placeholder="Your name"', (p) => p.getByPlaceholder("Your name", { exact: true })],
  ['placeholder="your name"', (p) => p.getByPlaceholder("your name", { exact: true })], ["placeholder=/you/i", (p) => p.getByPlaceholder(/you/i)], ["placeholder=/^\\d+$/", (p) => p.getByPlaceholder(/^\d+$/)],
  ["alt=lamp", (p) => p.getByAltText("lamp")], ['alt="Red lamp"', (p) => p.getByAltText("Red lamp", { exact: true })], ["alt=/chair|lamp/i", (p) => p.getByAltText(/chair|lamp/i)],
  ["title=more", (p) => p.getByTitle("more")], ['title="Search the site"', (p) => p.getByTitle("Search the site", { exact: true })], ["title=shadow", (p) => p.getByTitle("shadow")],
  ["testid=email", (p) => p.getByTestId("email")], ["testid=inner", (p) => p.getByTestId("inner")], ["testid=ema", (p) => p.getByTestId("ema")], ["testid=/mail|pan/", (p) => p.getByTestId(/mail|pan/)],
  ["text=lamp", (p) => p.getByText("lamp")], ['text="Lamp"', (p) => p.getByText("Lamp", { exact: true })], ["text=/^Buy/", (p) => p.getByText(/^Buy/)],
  ["#s1 >> text=/lamp/i", (p) => p.locator("#s1").getByText(/lamp/i)], ["testid=panel >> text=deep", (p) => p.getByTestId("panel").getByText("deep")],
];

// Invalid in both.
const invalid = ["div[", "p >", ".card >>", "text=/(/", "//div[", "xpath=count(//p)", "p:has-text(Sale)", ':nth-match(p)', "nothing=p", "role=button[name=/(/]", ":text()"];

const browser = await chromium.connectOverCDP(process.argv[2]);
const page = await browser.contexts()[0].newPage();
await page.setContent(html);
await page.evaluate(addShadowRoots);
await page.evaluate(await readFile(new URL("../../internal/page/bundle/main.js", import.meta.url), "utf8"));

const cases = [...[...same, ...invalid].map((selector) => [selector, (p) => p.locator(selector)]), ...methods];
for (const [selector, locate] of cases) {
  const ours = await page.evaluate((selector) => {
    const found = globalThis.__cm.query(selector, { limit: 1000 });
    return found.error ? "error" : found.matches.map(([id]) => globalThis.__cm.byId(id).id).sort();
  }, selector);
  let theirs = "error";
  try {
    theirs = await locate(page).evaluateAll((list) => list.map((el) => el.id).sort());
  } catch {
    // The result is "error".
  }
  console.log(JSON.stringify({ selector, ours, theirs }));
}
await browser.close();
