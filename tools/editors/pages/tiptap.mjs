import { Editor } from '@tiptap/core';
import StarterKit from '@tiptap/starter-kit';

const editor = new Editor({ element: document.querySelector('#editor'), extensions: [StarterKit] });
globalThis.saved = () => editor.getHTML();
