import {
  type ExpiryCandidate,
  MAX_ANNOTATION_LENGTH,
  TimeAnnotation,
} from '../../../schemas/events/expiry.ts';
import { memberOf } from './member-of.ts';

export type Annotations = NonNullable<ExpiryCandidate['annotations']>;

/**
 * By which an object says when it may go; `null` for one that has none of them. One that is longer than any time is there and says
 * nothing: it is told as empty (cluster S8).
 */
export function timeAnnotations(value: unknown): Annotations | null {
  const all = memberOf(memberOf(value, 'metadata'), 'annotations');
  if (all === null) return null;
  const found = TimeAnnotation.options.flatMap((name) => {
    const text = memberOf(all, name);
    if (text === null) return [];
    const isTold = typeof text === 'string' && text.length <= MAX_ANNOTATION_LENGTH && text.isWellFormed();
    return [[name, isTold ? text : ''] as const];
  });
  return found.length === 0 ? null : Object.fromEntries(found);
}
