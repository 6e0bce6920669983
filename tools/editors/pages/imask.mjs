import IMask from 'imask';

document.querySelector('#editor').innerHTML = '<label>Phone <input id="field"></label>';
const mask = IMask(document.querySelector('#field'), { mask: '+{1} (000) 000-0000' });
globalThis.saved = () => mask.value;
