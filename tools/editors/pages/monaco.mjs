import * as monaco from 'monaco-editor/editor/editor.api.js';
import 'monaco-editor/index.js';

const editor = monaco.editor.create(document.querySelector('#editor'), {
  value: 'old: 1\n', language: 'javascript', editContext: !location.search.includes('textarea'),
});
globalThis.saved = () => editor.getValue();
