// @ts-check
// The roles and states that other page scripts compare.

/** The roles of ARIA 1.2, and those of 1.3 that Chromium supports, that an author may set. */
export const ARIA_ROLES = new Set(('alert alertdialog application article banner blockquote button caption cell checkbox code columnheader combobox comment ' +
  'complementary contentinfo definition deletion dialog directory document emphasis feed figure form generic grid gridcell group heading image img insertion link list listbox ' +
  'listitem log main mark marquee math menu menubar menuitem menuitemcheckbox menuitemradio meter navigation none note option paragraph ' +
  'presentation progressbar radio radiogroup region row rowgroup rowheader scrollbar search searchbox separator slider spinbutton status strong ' +
  'subscript suggestion superscript switch tab table tablist tabpanel term textbox time timer toolbar tooltip tree treegrid treeitem').split(' '));

/** The bits of a node's flags. Package outline has the same table. Keep them equal. */
export const F = {
  checked: 1, mixed: 2, disabled: 4, expanded: 8, collapsed: 16, selected: 32, pressed: 64, required: 128, invalid: 256, readonly: 512,
  focused: 1024, inViewport: 2048, interactive: 4096, clickable: 8192, scrollable: 16384, modal: 32768, multiple: 65536, masked: 131072, marked: 262144,
  partial: 524288,
};

/** Roles of interactive elements. */
export const INTERACTIVE = new Set(('button checkbox combobox link listbox menuitem menuitemcheckbox menuitemradio option radio scrollbar searchbox slider spinbutton ' +
  'switch tab textbox treeitem summary date color').split(' '));

export const MASK = '••••';
