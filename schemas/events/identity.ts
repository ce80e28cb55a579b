import { z } from 'zod';

/** A name that may stand in a record key: no slash, no white space, no control characters. */
const KeyPart = z.string().regex(/^[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?$/, {
  error:
    'must be 1 to 253 letters, digits, dots, underscores or dashes, starting and ending with a letter or digit',
});

export const ClusterName = KeyPart;
export const NodeName = KeyPart;

/**
 * Which node a message is about. Names are not identities: `nodeInstance` is random per installation and bound to
 * the machine id, and an executor refuses orders that carry another one.
 */
export const NodeIdentity = z.object({
  cluster: ClusterName,
  node: NodeName,
  nodeInstance: z.uuid(),
});
export type NodeIdentity = z.infer<typeof NodeIdentity>;

const MAX_UID_LENGTH = 128;
export const ObjectUid = z.string().min(1).max(MAX_UID_LENGTH);

/**
 * Which cluster a message is about. Names are not identities: `clusterInstance` is the uid of its namespace `kube-system`, and an
 * executor refuses orders that carry another one.
 */
export const ClusterIdentity = z.object({
  cluster: ClusterName,
  clusterInstance: ObjectUid,
});
export type ClusterIdentity = z.infer<typeof ClusterIdentity>;

/** The record key of everything that concerns one node: `<cluster>/<node>`. */
export const nodeKey = ({ cluster, node }: Pick<NodeIdentity, 'cluster' | 'node'>): string =>
  `${cluster}/${node}`;

/** Whether a record key can be that of a node. */
export function isNodeKey(key: string): boolean {
  const [cluster, node, ...more] = key.split('/');
  return more.length === 0 && ClusterName.safeParse(cluster).success && NodeName.safeParse(node).success;
}

/** What events can be about. Each kind of subject has keys and topics of its own. */
export const SubjectKind = z.enum(['node', 'cluster']);
export type SubjectKind = z.infer<typeof SubjectKind>;

/** By which fields an event says whom it is about. */
interface SubjectIdentities {
  readonly node: NodeIdentity;
  readonly cluster: ClusterIdentity;
}
export type SubjectIdentity<Kind extends SubjectKind = SubjectKind> = SubjectIdentities[Kind];

/** A subject by its names, as record keys know it. */
interface NamedSubjects {
  readonly node: Pick<NodeIdentity, 'cluster' | 'node'>;
  readonly cluster: Pick<ClusterIdentity, 'cluster'>;
}
export type NamedSubject<Kind extends SubjectKind = SubjectKind> = NamedSubjects[Kind];

/** Whom something is about, by its record key. */
export interface Subject {
  readonly kind: SubjectKind;
  readonly key: string;
}

interface SubjectRow<Kind extends SubjectKind> {
  /** The record key of everything that concerns one subject. */
  readonly keyOf: (subject: NamedSubject<Kind>) => string;
  readonly isKey: (key: string) => boolean;
  /** Of a record key that is one of such a subject. */
  readonly clusterOf: (key: string) => string;
  /** Tells installations apart: what was installed anew under its old names has nothing in common with the one before. */
  readonly installationOf: (identity: SubjectIdentity<Kind>) => string;
  /** Of every topic that is keyed by it. Another number means new topic names and a drain. */
  readonly partitions: number;
}

/** The one table of subjects. */
export const SUBJECTS: { readonly [Kind in SubjectKind]: SubjectRow<Kind> } = {
  node: {
    keyOf: nodeKey,
    isKey: isNodeKey,
    clusterOf: (key) => key.slice(0, key.indexOf('/')),
    installationOf: (identity) => `${nodeKey(identity)} ${identity.nodeInstance}`,
    partitions: 32,
  },
  cluster: {
    keyOf: ({ cluster }) => cluster,
    isKey: (key) => ClusterName.safeParse(key).success,
    clusterOf: (key) => key,
    installationOf: ({ cluster, clusterInstance }) => `${cluster} ${clusterInstance}`,
    partitions: 32,
  },
};

/** The subject of this name. */
export const subjectNamed = <Kind extends SubjectKind>(kind: Kind, named: NamedSubject<Kind>): Subject => ({
  kind,
  key: SUBJECTS[kind].keyOf(named),
});
