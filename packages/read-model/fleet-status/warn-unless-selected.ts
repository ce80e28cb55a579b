import type { Logger } from 'pino';
import type { NodeSelector } from '../../../schemas/policy/policy.ts';
import { selects } from '../../../schemas/policy/policy-selection.ts';
import { selectorText } from '../../policy/selector-text.ts';
import { LinkedController } from '../../process/linked-controller.ts';
import { type ReportingNodesNeeds, readReportingNodes } from './reporting-nodes.ts';

/** Beyond that nothing is said: the question is no reason to wait. */
const LONGEST_MS = 5_000;

/** Says that the names may be wrong, where nodes were heard in the last day and none of them is selected. */
export async function warnUnlessSelected(
  selector: NodeSelector,
  { log, logger }: Pick<ReportingNodesNeeds, 'log'> & { readonly logger: Pick<Logger, 'warn'> },
  signal: AbortSignal,
): Promise<void> {
  const known = await knownUnlessSelected(selector, { log, nowMs: Date.now() }, signal);
  if (known.length > 0) logger.warn(selectsNobodyText(selector, known));
}

/** `known`: all nodes that there are, as `<cluster>/<node>`. */
export const selectsNobodyText = (selector: NodeSelector, known: readonly string[]): string =>
  `No node that was heard in the last day is meant by ${selectorText(selector)}: are the names right? ${knownNamesText('node', known)}`;

/**
 * The nodes that were heard, where none of them is selected. Ends at the first node that is selected, and after 5 s; never rejects,
 * since what was asked for is done already.
 */
async function knownUnlessSelected(
  selector: NodeSelector,
  needs: Omit<ReportingNodesNeeds, 'onProgress' | 'onNode'>,
  signal: AbortSignal,
): Promise<readonly string[]> {
  using bounded = new LinkedController(signal, AbortSignal.timeout(LONGEST_MS));
  const onNode: ReportingNodesNeeds['onNode'] = (stats) => {
    if (selects(selector, stats)) bounded.abort();
  };
  try {
    const { nodes } = await readReportingNodes({ ...needs, onProgress: () => {}, onNode }, bounded.signal);
    return bounded.signal.aborted ? [] : [...nodes.keys()];
  } catch {
    return [];
  }
}

/** So many names are listed. */
const MOST_NAMES = 5;

/** Which nodes or clusters there are, to find the one that was meant. */
export function knownNamesText(noun: 'node' | 'cluster', names: readonly string[]): string {
  const told = names.toSorted().slice(0, MOST_NAMES);
  const more = names.length - told.length;
  return `Known ${noun}s: ${told.join(', ')}${more === 0 ? '' : `, and ${more} more`}.`;
}
