import type { KeyRing } from '../records/trust/key-ring.ts';
import { type Principal, RequiredTrust } from '../records/trust/trust.ts';
import type { PolicyDocument } from './policy-document.ts';

/**
 * Why nobody believes that a document holds all policies, in a sentence; `null` when one does. What stands in its records is judged one
 * by one beside that.
 */
export function objectionToDocument(
  { head, exportedAtMs }: Pick<PolicyDocument, 'head' | 'exportedAtMs'>,
  ring: KeyRing,
  nowMs: number,
): string | null {
  const trust = new RequiredTrust({ ring: () => ring, problem: () => null, nowMs: () => nowMs });
  const authentication = trust.authenticate('policies', { ...head, timestampMs: nowMs });
  return authentication.ok
    ? objectionToExporter(authentication.principal, exportedAtMs)
    : authentication.distrust.message;
}

function objectionToExporter(principal: Principal, exportedAtMs: number): string | null {
  if (principal.kind !== 'key') return 'no key signed it';
  if (principal.role !== 'operator')
    return `the key of a ${principal.role} signed it, who may not say what all policies are`;
  if (principal.clusters.length > 0) return 'its key is for some clusters alone, and policies are for all';
  return principal.generation === exportedAtMs ? null : 'its signature is of another time than its head';
}
