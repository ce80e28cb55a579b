import { deriveId } from '../../packages/canonical/ids.ts';
import { printableLine } from '../../packages/text/printable.ts';
import {
  MAX_NOTICE_FACT_LENGTH,
  MAX_NOTICE_TEXT_LENGTH,
  type NoticeKind,
  type ToldNotice,
} from '../../schemas/notices/notice.ts';
import type { PolicySetOf } from '../../schemas/policy/policy.ts';

/** Reasons of the Events on a Node, those of failures by the kubelet's own names. */
export type EventReason =
  | 'ReclaimStarted'
  | 'GarbageCollected'
  | 'ImageGCFailed'
  | 'ContainerGCFailed'
  | 'FreeDiskSpaceFailed';

/** What people are to be told, whoever they are. */
export interface Notice extends Pick<ToldNotice, 'id' | 'kind' | 'cluster' | 'node' | 'text' | 'facts'> {
  /** Epoch milliseconds, by the event log's clock. */
  readonly atMs: number;
  /** As an Event on the node it is about; `null` where it becomes none. */
  readonly reason: EventReason | null;
  /** What the log tells again and again: it is told once in a while. `null`: it is told each time. */
  readonly onceKey: string | null;
}

/** The event that led to a notice, and when the log took it. */
export interface Told {
  readonly id: string;
  readonly atMs: number;
}

/** What is known beside the event. */
export interface Known {
  /** Those that are active; `null` where nobody follows them, or they cannot be read. */
  readonly policies: PolicySetOf<'cluster'> | null;
  /** A key signed the event that may. */
  readonly isSigned: boolean;
}

/** Whom it is about. */
interface About {
  readonly cluster: string | null;
  readonly node: string | null;
}

export const ABOUT_NOBODY: About = { cluster: null, node: null };
export const aboutNode = ({ cluster, node }: { readonly cluster: string; readonly node: string }): About => ({
  cluster,
  node,
});
export const aboutCluster = ({ cluster }: { readonly cluster: string }): About => ({ cluster, node: null });

/** `<cluster>/<node>` or `<cluster>`; `null` for what is about neither. */
export const subjectOf = ({ cluster, node }: About): string | null =>
  cluster !== null && node !== null ? `${cluster}/${node}` : cluster;

/** No signature was checked, or there was none. */
export const NOT_PROVED = '. No signature proves this';

interface Saying {
  readonly about: About;
  readonly text: string;
  readonly facts?: Notice['facts'];
  readonly reason?: EventReason;
  readonly onceKey?: string;
  /** Where one event leads to several notices of a kind. */
  readonly part?: string;
}

/**
 * The id follows from that of the event, so that the same has the same id whenever it is told again. Throws `RangeError` for a time that no
 * calendar has.
 */
export function notice(kind: NoticeKind, { id, atMs }: Told, saying: Saying): Notice {
  const { about, text, facts = {}, reason = null, onceKey = null, part } = saying;
  const subject = subjectOf(about);
  requireCalendarTime(atMs);
  return {
    id: deriveId('notice', kind, id, ...(part === undefined ? [] : [part])),
    kind,
    atMs,
    ...about,
    text: oneLine(subject === null ? text : `${subject}: ${text}`, MAX_NOTICE_TEXT_LENGTH),
    facts: Object.fromEntries(
      Object.entries(facts).map(([name, value]) => [
        name,
        typeof value === 'string' ? oneLine(value, MAX_NOTICE_FACT_LENGTH) : value,
      ]),
    ),
    reason,
    onceKey,
  };
}

function requireCalendarTime(atMs: number): void {
  if (Number.isNaN(new Date(atMs).getTime())) throw new RangeError(`no calendar has the time ${atMs} ms`);
}

/** A text of somebody else may have any length, and anything in it: what is cut away is not looked at. */
const oneLine = (text: string, most: number): string => cut(printableLine(cut(text, most)), most);

const cut = (text: string, most: number): string =>
  text.length <= most ? text : `${text.slice(0, most - 1)}…`.toWellFormed();
