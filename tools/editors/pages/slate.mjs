import { createElement, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { createEditor, Node } from 'slate';
import { withHistory } from 'slate-history';
import { Editable, Slate, withReact } from 'slate-react';

function App() {
  const [editor] = useState(() => withReact(withHistory(createEditor())));
  globalThis.saved = () => editor.children.map((node) => `<p>${Node.string(node).replaceAll('\n', '<br>')}</p>`).join('');
  return createElement(Slate, { editor, initialValue: [{ type: 'paragraph', children: [{ text: '' }] }] }, createElement(Editable));
}
createRoot(document.querySelector('#editor')).render(createElement(App));
