// @ts-check

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { FakeElement } from './dom.js';
import { MarkdownView, markdown } from '../markdown.js';
import { exactText, sanitizeText } from '../text.js';

const html = (/** @type {string} */ text) => markdown(text).map(String).join('');

const CASES = {
  'paragraphs': ['a\nb\n\nc', '<p>a\nb</p><p>c</p>'],
  'headings': ['# One\n### Three ##\n#none', '<h3>One</h3><h5>Three</h5><p>#none</p>'],
  'emphasis': ['*a* **b** ***c*** _d_ __e__ ~~f~~ snake_case_name 2*3*4', '<p><em>a</em> <strong>b</strong> <strong><em>c</em></strong> <em>d</em> <strong>e</strong> <del>f</del> snake_case_name 2<em>3</em>4</p>'],
  'unclosed emphasis': ['**a and *b', '<p>**a and *b</p>'],
  'code': ['`a*b*` ``c`d`` `open', '<p><code>a*b*</code> <code>c`d</code> `open</p>'],
  'fences': ['```js\na < b\n\n**c**\n```\nd', '<pre><code>a < b\n\n**c**</code></pre><p>d</p>'],
  'open fence': ['```\na', '<pre><code>a</code></pre>'],
  'lists': ['- a\n- b\n  - c\n- d\n\n3. e\n4. f', '<ul><li>a</li><li>b<ul><li>c</li></ul></li><li>d</li></ul><ol><li>e</li><li>f</li></ol>'],
  'quotes': ['> a\n> > b', '<blockquote><p>a</p><blockquote><p>b</p></blockquote></blockquote>'],
  'tables': ['| a | b |\n|---|:-:|\n| 1 | `x` |\n| 2 |', '<div><table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>1</td><td><code>x</code></td></tr><tr><td>2</td><td></td></tr></tbody></table></div>'],
  'rules': ['a\n\n---\n\nb', '<p>a</p><hr></hr><p>b</p>'],
  'links': ['[a *b*](https://x.test/p_(q) "t") <https://y.test> see https://z.test/a?b=1.', '<p><a https://x.test/p_(q)>a <em>b</em> (x.test)</a> <a https://y.test/>https://y.test</a> see <a https://z.test/a?b=1>https://z.test/a?b=1</a>.</p>'],
  'images': ['![a cat](https://x.test/c.png) ![](http://x.test/)', '<p><a https://x.test/c.png>image: a cat (x.test)</a> <a http://x.test/>image: x.test (x.test)</a></p>'],
  'link that claims another site': ['[bank.example](https://evil.test/)', '<p><a https://evil.test/>bank.example (evil.test)</a></p>'],
  'escapes': ['\\*a\\* \\[b](https://x.test/)', '<p>*a* [b](<a https://x.test/>https://x.test/</a>)</p>'],
};

for (const [name, [text, want]] of Object.entries(CASES)) {
  test(`Markdown: ${name}`, () => assert.equal(html(text), want));
}

const TAGS = new Set(['p', 'h3', 'h4', 'h5', 'h6', 'em', 'strong', 'del', 'code', 'pre', 'ul', 'ol', 'li', 'blockquote', 'div', 'table', 'thead', 'tbody', 'tr', 'th', 'td', 'a', 'br', 'hr']);
const ATTRIBUTES = new Set(['href', 'title', 'rel', 'target', 'start', 'scope', 'tabIndex', 'className']);

test('no text of the XSS corpus creates another element, attribute or scheme', () => {
  const corpus = readFileSync(new URL('./xss.txt', import.meta.url), 'utf8').split('\n').filter(Boolean);
  assert.ok(corpus.length > 70);
  for (const attack of corpus) {
    for (const text of [attack, `- ${attack}`, `> ${attack}`, `| ${attack} |\n|---|\n| ${attack} |`, `[${attack}](${attack})`, `![${attack}](${attack})`, `**${attack}**`, `<${attack}>`, `[x]: ${attack}\n[x]`, `\`\`\`${attack}\n${attack}`]) {
      const root = new FakeElement('div');
      root.append(.../** @type {any} */ (markdown(text)));
      for (const e of root.all()) {
        assert.ok(TAGS.has(e.tag), `${text} creates ${e.tag}`);
        for (const key of Object.keys(e.attributes)) assert.ok(ATTRIBUTES.has(key), `${text} sets ${key}`);
        if (e.attributes.href !== undefined) assert.match(e.attributes.href, /^https?:\/\/[^/]/, text);
      }
    }
  }
});

test('streaming gives the same elements, and renders finished blocks once', () => {
  const text = Object.values({ ...CASES, 'open fence': ['```\na\n```'] }).map(([t]) => t).join('\n\n').repeat(2);
  const root = new FakeElement('div');
  const view = new MarkdownView(/** @type {any} */ (root));
  for (let i = 0; i <= text.length; i++) view.show(text.slice(0, i));
  const first = root.childNodes[0];
  assert.equal(root.childNodes.map(String).join(''), html(text));
  view.show(text + '\n\nmore');
  assert.equal(root.childNodes[0], first);
  assert.equal(root.childNodes[root.childNodes.length - 1].textContent, 'more');
  view.show('other');
  assert.equal(root.childNodes.map(String).join(''), '<p>other</p>');
});

// Linear time is a small part of the limit, and quadratic time exceeds it. Only CPU time counts, so that
// other processes do not matter.
test('hostile texts take linear time', () => {
  for (const unit of ['[', '![', '*', '**a ', '_a', '`', '`a``', '> ', '- ', '~~~\n', '](', '[](', '<http://', '(http://a', '|', '|-', '\\', '- a\n', '  - a\n', '# ', ' ', '\x1b[', '\x1b]', '[a](http://a ', '* * ']) {
    const text = unit.repeat(Math.ceil(200_000 / unit.length));
    const began = process.cpuUsage();
    markdown(text);
    markdown(`a|b\n-${text}x`);
    markdown(`\`\`\`${text}\``);
    markdown(`[a](${text}`);
    const { user, system } = process.cpuUsage(began);
    const ms = (user + system) / 1000;
    assert.ok(ms < 20_000, `${JSON.stringify(unit)} takes ${Math.round(ms)} ms`);
  }
});

test('escape sequences, control characters and bidi overrides', () => {
  assert.equal(sanitizeText('\x1b[31mred\x1b[0m \x1b]8;;http://x\x07link\x1b]8;;\x07 \x9b1mC1 \x1bcreset a\x00\x08b\r\nc\td'), 'red link C1 reset ab\nc\td');
  assert.equal(sanitizeText('a\u202egnp.exe\u2066b\u{e0041}'), 'agnp.exeb');
  assert.equal(sanitizeText('עברית שלום 👩‍👩‍👧'), 'עברית שלום 👩‍👩‍👧');
  assert.equal(exactText('rm \u202e-rf\u200b /\u00a0x\x1b[0m\n\tok'), 'rm ‹U+202E›-rf‹U+200B› /‹U+00A0›x‹U+001B›[0m\n\tok');
  assert.equal(html('a\u202e[b](https://x.test/\u202e)'), '<p>a<a https://x.test/>b (x.test)</a></p>');
});
