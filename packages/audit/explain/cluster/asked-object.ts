import { type ClusterObject, kindName } from '../../../../schemas/events/cluster-objects.ts';
import { FleetGcError } from '../../../process/errors.ts';

/** A name of an object of a cluster as somebody asked for it, and what it may mean. */
export interface AskedObject {
  readonly asked: string;
  /** `apps/Deployment`, or `Deployment` of any group; `null`: any. */
  readonly kind: string | null;
  /** `null`: any, or none. */
  readonly namespace: string | null;
  readonly name: string;
  /** As a uid, or its beginning; `null` when it cannot be one. */
  readonly uid: string | null;
}

/** What names and uids are compared with. */
export type NamedByUid = Pick<ClusterObject, 'group' | 'kind' | 'namespace' | 'name' | 'uid'>;

const PREFIX = 'object/';
const KIND = /^[A-Z]/;
const UID_PREFIX = /^[0-9a-f][0-9a-f-]{5,}$/;

/** Whether a name can only be that of an object of a cluster: `ConfigMap/shop/web`, `apps/Deployment/shop/web`, `object/…`. */
export function meansClusterObject(asked: string): boolean {
  if (asked.startsWith(PREFIX)) return true;
  const [first = '', second = '', ...others] = asked.split('/');
  return (second !== '' && KIND.test(first)) || (others.length > 0 && KIND.test(second));
}

/** Throws `USAGE`. */
export function askedObject(asked: string): AskedObject {
  const text = (asked.startsWith(PREFIX) ? asked.slice(PREFIX.length) : asked).trim();
  const parts = text.split('/');
  const place = parts.findIndex((part, index) => index < 2 && index < parts.length - 1 && KIND.test(part));
  const kind = place < 0 ? null : parts.slice(0, place + 1).join('/');
  const [name = '', namespace = null, ...more] = parts.slice(place + 1).toReversed();
  if (name === '' || namespace === '' || more.length > 0)
    throw new FleetGcError(
      'USAGE',
      `${asked} names no object of a cluster; write [GROUP/]KIND/[NAMESPACE/]NAME, NAME or its uid`,
    );
  return { asked, kind, namespace, name, uid: parts.length === 1 ? name : null };
}

export const isMeant = (asked: AskedObject, object: NamedByUid): boolean =>
  isUid(asked, object.uid) || isNamed(asked, object);

const isUid = ({ uid: asked }: AskedObject, uid: string): boolean =>
  asked !== null && (uid === asked || (UID_PREFIX.test(asked) && uid.startsWith(asked)));

const isNamed = ({ kind, namespace, name }: AskedObject, object: NamedByUid): boolean =>
  object.name === name &&
  (namespace === null || object.namespace === namespace) &&
  (kind === null || kind === object.kind || kind === kindName(object));

/** Stands in every record that names what is meant. */
export const needleOf = ({ name }: AskedObject): string => name;
