import 'trix';
import 'trix/dist/trix.css';

document.querySelector('#editor').innerHTML = '<input type="hidden" id="value"><trix-editor input="value"></trix-editor>';
globalThis.saved = () => document.querySelector('#value').value;
