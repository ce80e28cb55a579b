import { LabelName, type Labels, LabelValue, MAX_LABELS } from '../../../schemas/events/label.ts';
import { memberOf } from './member-of.ts';

/** Those of the wanted labels that an object has; `null` for none, and for more than a fact tells: then nobody selects it by them. */
export function wantedLabels(value: unknown, wanted: ReadonlySet<string>): Labels | null {
  const all = memberOf(memberOf(value, 'metadata'), 'labels');
  const found = [...wanted].flatMap((name) => {
    const text = memberOf(all, name);
    return LabelName.safeParse(name).success && LabelValue.safeParse(text).success ? [[name, text]] : [];
  });
  return found.length === 0 || found.length > MAX_LABELS ? null : Object.fromEntries(found);
}
