import { javascript } from '@codemirror/lang-javascript';
import { basicSetup, EditorView } from 'codemirror';

const editor = new EditorView({ doc: 'old: 1\n', extensions: [basicSetup, javascript()], parent: document.querySelector('#editor') });
globalThis.saved = () => editor.state.doc.toString();
