import { Bold, ClassicEditor, Essentials, Paragraph, TextTransformation } from 'ckeditor5';
import 'ckeditor5/ckeditor5.css';

const editor = await ClassicEditor.create(document.querySelector('#editor'), { licenseKey: 'GPL', plugins: [Essentials, Paragraph, Bold, TextTransformation] });
globalThis.saved = () => editor.getData();
