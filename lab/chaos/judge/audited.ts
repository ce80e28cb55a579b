import type { AuditEvidence, Violation } from './evidence.ts';

/** What a round of any kind tells of its log. */
interface Audited {
  readonly audit: AuditEvidence | null;
  readonly played: readonly { readonly fault: { readonly kind: string } }[];
  readonly log: { readonly tainted: ReadonlySet<string>; readonly distrusted: ReadonlySet<string> };
}

/** As the product calls what nobody signed who may. */
const NOT_TRUSTED = 'not-trusted';

/**
 * The log proves itself: nothing on it deviates from what the product promises, but for what rests on messages that the
 * round forged, and what no good key signed; of the latter each is to be found, and nothing else as such.
 */
export function audited(evidence: Audited): readonly Violation[] {
  const { audit, played, log } = evidence;
  // A place means another record when its topic was made anew.
  if (audit === null || played.some(({ fault }) => fault.kind === 'topic-anew')) return [];
  const deviating = audit.findings
    .filter(({ kind, places }) =>
      kind === NOT_TRUSTED
        ? !places.some((place) => log.distrusted.has(place)) &&
          !(places.length === 0 && isSelfCertified(played))
        : !places.some((place) => log.tainted.has(place)),
    )
    .map(
      ({ kind, node, message, places }): Violation => ({
        invariant: 'audit',
        node: node ?? 'fleet',
        text: `${kind}: ${message} (${places.join(', ')})`,
      }),
    );
  return [...deviating, ...overlooked(evidence)];
}

/** Of statements about keys no place is told. */
const isSelfCertified = (played: Audited['played']): boolean =>
  played.some(({ fault }) => 'signature' in fault && fault.signature === 'self-certified');

/** What ran full, or was compacted, may have lost what somebody saw there. */
function overlooked({ audit, played, log }: Audited): readonly Violation[] {
  if (audit === null || audit.isCut || played.some(({ fault }) => fault.kind === 'broker-full')) return [];
  const told = new Set(
    audit.findings.filter(({ kind }) => kind === NOT_TRUSTED).flatMap(({ places }) => places),
  );
  return [...log.distrusted]
    .filter((place) => !place.startsWith('gc.policies/') && !told.has(place))
    .map((place) => ({
      invariant: 'audit',
      node: 'fleet',
      text: `${place} was signed by no key that counted, and is not told as ${NOT_TRUSTED}`,
    }));
}
