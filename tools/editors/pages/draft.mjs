import { Editor, EditorState } from 'draft-js';
import 'draft-js/dist/Draft.css';
import { createElement, useState } from 'react';
import { createRoot } from 'react-dom/client';

function App() {
  const [state, setState] = useState(() => EditorState.createEmpty());
  globalThis.saved = () => state.getCurrentContent().getBlocksAsArray().map((block) => `<p>${block.getText().replaceAll('\n', '<br>')}</p>`).join('');
  return createElement(Editor, { editorState: state, onChange: setState });
}
createRoot(document.querySelector('#editor')).render(createElement(App));
