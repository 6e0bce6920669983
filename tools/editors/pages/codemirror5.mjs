import CodeMirror from 'codemirror5';
import 'codemirror5/addon/edit/closebrackets.js';
import 'codemirror5/lib/codemirror.css';
import 'codemirror5/mode/javascript/javascript.js';

const editor = CodeMirror(document.querySelector('#editor'), { value: 'old: 1\n', mode: 'javascript', lineNumbers: true, autoCloseBrackets: true });
globalThis.saved = () => editor.getValue();
