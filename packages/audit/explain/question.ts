import { ExplainedKind } from '../../../schemas/reports/timeline.ts';
import { parseReference, repositoryOf } from '../../cri/image-names.ts';
import { FleetGcError } from '../../process/errors.ts';
import type { TimeRange } from '../../records/read-log.ts';

/** A name as somebody asked for it, and what it may mean. */
export interface AskedName {
  readonly asked: string;
  /** `null`: it may be of any kind. */
  readonly kind: ExplainedKind | null;
  readonly text: string;
  /** As an image reference: names and digests; without a tag also the repository, of which any version is meant. */
  readonly imageTerms: readonly string[];
  /** As the beginning of an id or UID; `null` when it cannot be one. */
  readonly idPrefix: string | null;
  /** One of these stands in every record that names what is meant, whatever else the record says. */
  readonly needles: readonly string[];
}

/** What people ask for by its name: the entries of log directories belong to their pods. */
export const IS_ASKED_BY_NAME: Readonly<Record<ExplainedKind, boolean>> = {
  container: true,
  sandbox: true,
  'pod-log-directory': false,
  'log-symlink': false,
  image: true,
  pod: true,
  node: true,
};

const ID_PREFIX = /^[0-9a-f][0-9a-f-]{5,}$/;

/** `pod/shop-7f` is a pod alone; without such a beginning a name may mean anything. Throws `USAGE`. */
export function askedName(asked: string): AskedName {
  const slash = asked.indexOf('/');
  const kind = ExplainedKind.safeParse(asked.slice(0, Math.max(0, slash))).data ?? null;
  const text = (kind === null ? asked : asked.slice(slash + 1)).trim();
  if (text === '') throw new FleetGcError('USAGE', `${asked} names nothing; write what is to be explained`);
  const bare = text.replace(/^sha256:/, '');
  return {
    asked,
    kind,
    text,
    imageTerms: kind === null || kind === 'image' ? imageTerms(text) : [],
    idPrefix: ID_PREFIX.test(bare) ? bare : null,
    needles: needlesOf(text),
  };
}

function imageTerms(text: string): string[] {
  const reference = parseReference(text);
  if (reference === undefined) return [text];
  const { names, digests } = reference;
  const anyVersion = isTagged(text) ? [] : names.map(repositoryOf);
  return [text, ...names, ...digests, ...anyVersion];
}

const isTagged = (text: string): boolean => /[:@]/.test(text.slice(text.lastIndexOf('/') + 1));

/** The last part of the path without tag and attempt, and a digest: JSON writes a slash in more than one way. */
function needlesOf(text: string): string[] {
  const [path = '', digest] = text.replace(/^sha256:/, '').split('@');
  const last = path.slice(path.lastIndexOf('/') + 1);
  return [last.replace(/[:#].*$/, ''), (digest ?? '').replace(/^sha256:/, '')].filter(
    (needle) => needle !== '',
  );
}

/** What is asked for, and where to look for it. */
export interface ExplainRequest {
  readonly name: string;
  /** `<node>` or `<cluster>/<node>`; `null`: any. */
  readonly node: string | null;
  readonly range: TimeRange;
  /** Of several things that the name means only those that were there in the end, if there are any. */
  readonly thereOnly: boolean;
}

export interface WatchedNode {
  readonly cluster: string;
  readonly node: string;
}

/** Of a key, `<cluster>/<node>`. */
export function nodeOfKey(key: string): WatchedNode {
  const [cluster = '', node = ''] = key.split('/');
  return { cluster, node };
}

export type NodeFilter = (node: WatchedNode) => boolean;
