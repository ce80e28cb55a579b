import { SUBJECTS } from '../../../schemas/events/identity.ts';
import { subjectKindOf, TOPICS, type TopicId } from '../../../schemas/events/topics.ts';
import type { CertifiedKey } from './key-ring.ts';

/**
 * Why a key may not speak for the subject of a record, in a few words. For whom it speaks is in the record's key; whom a
 * policy selects is told where policies are read.
 */
export function objectionToSubject(
  topic: TopicId,
  { clusters, nodes }: Pick<CertifiedKey, 'clusters' | 'nodes'>,
  recordKey: string | null,
): string | null {
  const kind = subjectKindOf(TOPICS[topic]);
  if (clusters.length === 0 || kind === null) return null;
  const { isKey, clusterOf } = SUBJECTS[kind];
  const cluster = recordKey !== null && isKey(recordKey) ? clusterOf(recordKey) : null;
  if (recordKey === null || cluster === null || !clusters.includes(cluster))
    return `is for the clusters ${clusters.join(', ')} alone`;
  return nodes.length === 0 || nodes.includes(recordKey.slice(cluster.length + 1))
    ? null
    : `is for the nodes ${nodes.join(', ')} alone`;
}
