import type { Logger } from 'pino';
import { selectorText } from '../../packages/policy/selector-text.ts';
import { LinkedController } from '../../packages/process/linked-controller.ts';
import type { NodeSelector } from '../../schemas/policy/policy.ts';
import { selects } from '../../schemas/policy/policy-selection.ts';
import { type ReportingNodesNeeds, readReportingNodes } from './reporting-nodes.ts';

/** Beyond that nothing is said: the question is no reason to wait. */
const LONGEST_MS = 5_000;

/** Says that the names may be wrong, where nodes were heard in the last day and none of them is selected. */
export async function warnUnlessSelected(
  selector: NodeSelector,
  { log, logger }: Pick<ReportingNodesNeeds, 'log'> & { readonly logger: Pick<Logger, 'warn'> },
  signal: AbortSignal,
): Promise<void> {
  if (await selectsNone(selector, { log, nowMs: Date.now() }, signal))
    logger.warn(selectsNobodyText(selector));
}

export const selectsNobodyText = (selector: NodeSelector): string =>
  `No node that was heard in the last day is meant by ${selectorText(selector)}: are the names right?`;

/** Ends at the first node that is selected, and after 5 s; never rejects, since what was asked for is done already. */
async function selectsNone(
  selector: NodeSelector,
  needs: Omit<ReportingNodesNeeds, 'onProgress' | 'onNode'>,
  signal: AbortSignal,
): Promise<boolean> {
  using bounded = new LinkedController(signal, AbortSignal.timeout(LONGEST_MS));
  const onNode: ReportingNodesNeeds['onNode'] = (stats) => {
    if (selects(selector, stats)) bounded.abort();
  };
  try {
    const { nodes } = await readReportingNodes({ ...needs, onProgress: () => {}, onNode }, bounded.signal);
    return !bounded.signal.aborted && nodes.size > 0;
  } catch {
    return false;
  }
}
