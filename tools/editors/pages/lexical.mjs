import { createEmptyHistoryState, registerHistory } from '@lexical/history';
import { registerRichText } from '@lexical/rich-text';
import { $getRoot, createEditor } from 'lexical';

const root = document.querySelector('#editor');
root.contentEditable = 'true';
const editor = createEditor({ onError: console.error });
editor.setRootElement(root);
registerRichText(editor);
registerHistory(editor, createEmptyHistoryState(), 300);
globalThis.saved = () => editor.read(() => $getRoot().getChildren().map((node) => `<p>${node.getTextContent().replaceAll('\n', '<br>')}</p>`).join(''));
