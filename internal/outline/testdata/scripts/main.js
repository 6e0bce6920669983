// The page scripts, and everything that a snapshot would report about one element.

import '../../../page/js/main.js';
import { descriptionOf, nameOf } from '../../../page/js/accessible_names.js';
import { roleOf } from '../../../page/js/aria_roles.js';
import { flagsOf, levelOf, valueOf } from '../../../page/js/aria_states.js';
import { byId, outerOf, withCaches } from '../../../page/js/dom.js';
import { foldCase, foldText } from '../../../page/js/same_text.js';
import { isHidden } from '../../../page/js/visibility.js';

Object.assign(globalThis.__cm, { foldCase, foldText });

globalThis.__cm.describeFully = (id) => withCaches(() => {
  const el = byId(id), role = roleOf(el), name = nameOf(el, role);
  return {
    role, name,
    value: valueOf(el, role),
    description: descriptionOf(el, name),
    hidden: isHidden(el),
    flags: flagsOf(el, role),
    level: levelOf(el, role),
    html: outerOf(el).slice(0, 110),
  };
});
