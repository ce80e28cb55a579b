import { LabelName, type Labels, LabelValue, MAX_LABELS } from '../../../schemas/events/label.ts';
import { memberOf } from './member-of.ts';

/** Those of the wanted labels that an object has; `null` for none. */
export function wantedLabels(value: unknown, wanted: ReadonlySet<string>): Labels | 'too-many' | null {
  const all = memberOf(memberOf(value, 'metadata'), 'labels');
  const found = [...wanted].flatMap((name) => {
    const text = memberOf(all, name);
    return LabelName.safeParse(name).success && LabelValue.safeParse(text).success ? [[name, text]] : [];
  });
  // Without some of them a rule could take it that comes after the one that is for it.
  if (found.length > MAX_LABELS) return 'too-many';
  return found.length === 0 ? null : Object.fromEntries(found);
}
