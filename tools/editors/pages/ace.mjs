import ace from 'ace-builds/src-noconflict/ace.js';
import 'ace-builds/src-noconflict/mode-javascript.js';

const editor = ace.edit(document.querySelector('#editor'), { mode: 'ace/mode/javascript', useWorker: false });
editor.setValue('old: 1\n', -1);
globalThis.saved = () => editor.getValue();
