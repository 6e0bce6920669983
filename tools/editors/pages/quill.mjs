import Quill from 'quill';
import 'quill/dist/quill.snow.css';

const editor = new Quill('#editor', { theme: 'snow' });
globalThis.saved = () => editor.getSemanticHTML();
