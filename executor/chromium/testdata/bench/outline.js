// The least that a snapshot can be: roles, names and numbers of what is
// visible, in one walk. What View.Snapshot costs is told in multiples of it.
(() => {
  const roles = { A: 'link', BUTTON: 'button', H1: 'heading', H2: 'heading', INPUT: 'textbox' };
  const lines = [];
  const squeeze = (text) => text.trim().replace(/\s+/g, ' ');
  const name = (e) =>
    squeeze(e.getAttribute('aria-label') || e.labels?.[0]?.textContent || (e.tagName === 'INPUT' ? '' : e.textContent) || '');
  const walk = (parent) => {
    for (let n = parent.firstChild; n; n = n.nextSibling) {
      if (n.nodeType === Node.TEXT_NODE) {
        const text = squeeze(n.data);
        if (text) lines.push(`- text: ${text}`);
        continue;
      }
      if (n.nodeType !== Node.ELEMENT_NODE || n.tagName === 'SCRIPT' || n.tagName === 'STYLE' || !n.checkVisibility()) continue;
      const role = n.type === 'checkbox' ? 'checkbox' : roles[n.tagName];
      if (role) lines.push(`- ${role} "${name(n)}" [ref=e${lines.length}]`);
      else walk(n);
    }
  };
  walk(document.body);
  return lines.join('\n');
})();
