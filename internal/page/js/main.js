// @ts-check
// The entry point of the page scripts: the functions that Go calls in the isolated
// world of a document.

import { box, isHitAt, pixelRatio, scrollIntoViewIfNeeded, waitActionable } from './actionability.js';
import { candidates } from './candidates.js';
import { closedCandidates, markQueried } from './closed_shadow_roots.js';
import { addClosedRoot, byId, idOf } from './dom.js';
import { dragState, endDrag, frameAtPoint, holdPress, isDropLayoutStable, watchDrag } from './drag.js';
import { editableLines, editorState, pasteInto, readEditor } from './editors.js';
import { distrustContents, maskEntered, watchFields } from './entered_fields.js';
import { inspectField } from './field_values.js';
import { entryKeyFocus, focus, focusedFrame, receivesKeys, rewrittenField, waitChecked, waitEditable } from './fields.js';
import { outward, toParentDocument } from './frame_coordinates.js';
import { framesInView, watchFrames } from './frames_in_view.js';
import { finishCheck, startCheck } from './hit_target_check.js';
import { internalsCandidates, setInternals } from './internals.js';
import { blockPaste, keptFields } from './kept_content.js';
import { addListening } from './listeners.js';
import { readable } from './markup.js';
import { hasActiveViewTransition } from './mutations.js';
import { pointedLabel, takePointed } from './pointed.js';
import { query } from './query.js';
import { moveScroller } from './scroll.js';
import { checkSecretField, enterSecret } from './secret_entry.js';
import { listOption, pickRadio, restoreFieldValue, selectOptions, setValue } from './select_options.js';
import { startTracking, stopTracking, title, waitForQuiet } from './settle.js';
import { asShown, changeOf } from './shown_elements.js';
import { snapshot } from './snapshot.js';
import { html } from './source_markup.js';
import { allItems, removeItems, setItem, setItems, storedItems } from './storage.js';
import { leaveField } from './submit.js';
import { afterKey, beginEntry, entryFocus, focusedField, moveCaret, prefill } from './text_entry.js';
import { describe, links, main, text, textParts } from './text_extraction.js';
import { firstInDocumentOrder } from './tree_order.js';
import { discardFiles, dropFiles, fileInput, receiveFileChunk, setInputFiles } from './upload.js';
import { viewport } from './viewport.js';
import { hasText, isShown, nextChange, painted, shownMatch } from './wait_conditions.js';

const api = {
  addClosedRoot,
  addListening,
  afterKey,
  allItems,
  asShown: (/** @type {string} */ name, /** @type {number} */ id, /** @type {number} */ at, /** @type {boolean} */ itemOnly, /** @type {any[]} */ ...args) => asShown(/** @type {any} */ (api)[name], name, id, at, itemOnly, args),
  beginEntry,
  blockPaste,
  box,
  byId,
  candidates,
  changeOf,
  checkSecretField,
  closedCandidates,
  describe,
  discardFiles,
  distrustContents,
  dragState,
  dropFiles,
  editableLines,
  editorState,
  endDrag,
  enterSecret,
  entryFocus,
  entryKeyFocus,
  fileInput,
  finishCheck,
  firstInDocumentOrder,
  focus,
  focusedField,
  focusedFrame,
  frameAtPoint,
  framesInView,
  hasActiveViewTransition,
  hasText,
  isHitAt,
  holdPress,
  html,
  idOf,
  inspectField,
  internalsCandidates,
  isDropLayoutStable,
  isShown,
  keptFields,
  leaveField,
  links,
  listOption,
  main,
  markQueried,
  maskEntered,
  moveCaret,
  moveScroller,
  nextChange,
  outward,
  painted,
  pasteInto,
  pickRadio,
  pixelRatio,
  pointedLabel,
  prefill,
  restoreFieldValue,
  query,
  readEditor,
  readable,
  receiveFileChunk,
  receivesKeys,
  removeItems,
  scrollIntoViewIfNeeded,
  rewrittenField,
  selectOptions,
  setInputFiles,
  setInternals,
  setItem,
  setItems,
  setValue,
  shownMatch,
  snapshot,
  startCheck,
  startTracking,
  stopTracking,
  storedItems,
  takePointed,
  text,
  textParts,
  title,
  toParentDocument,
  viewport,
  waitActionable,
  waitChecked,
  waitEditable,
  waitForQuiet,
  watchDrag,
  watchFields,
  watchFrames,
};

// The property must be the window's own: <div id="__cm"> adds one of that name in every world.
Object.defineProperty(globalThis, '__cm', { value: api });
