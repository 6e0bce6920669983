import EditorJS from '@editorjs/editorjs';

const editor = new EditorJS({ holder: 'editor' });
await editor.isReady;
globalThis.saved = async () => (await editor.save()).blocks.map((block) => `<p>${block.data.text}</p>`).join('');
