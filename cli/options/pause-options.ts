import { optionText, resumeCommand } from '../../packages/policy/ending-commands.ts';
import { TextList, withMeta } from '../../packages/process/options/options.ts';
import type { NodeSelector } from '../../schemas/policy/policy.ts';
import { selectorConditions } from '../../schemas/policy/policy-sections.ts';
import type { EventLogChoice } from './event-log-options.ts';

/** Which nodes `pause` and `resume` are about; without any of these, all of them. */
export const pauseSelectorOptions = {
  cluster: withMeta(TextList.pipe(selectorConditions.clusters).optional(), {
    kind: 'list',
    commandLineOnly: true,
    placeholder: 'NAME,…',
    description: 'Only these clusters: what is collected in them, and their nodes.',
  }),
  nodeName: withMeta(TextList.pipe(selectorConditions.nodeNames).optional(), {
    kind: 'list',
    commandLineOnly: true,
    placeholder: 'GLOB,…',
    description: 'Only nodes whose name matches one of these patterns.',
  }),
  pool: withMeta(TextList.pipe(selectorConditions.pools).optional(), {
    kind: 'list',
    commandLineOnly: true,
    placeholder: 'NAME,…',
    description: 'Only nodes of these pools, by their label fleetgc.io/pool.',
  }),
};

type Given = { readonly [Key in keyof typeof pauseSelectorOptions]?: string[] | undefined };

export const toPauseSelector = ({ cluster = [], nodeName = [], pool = [] }: Given): NodeSelector => ({
  clusters: cluster,
  nodeNames: nodeName,
  pools: pool,
  nodeLabels: {},
});

/** The command that ends the pause of these nodes on this log, to be typed in a shell. */
export const resumeOnEventLog = (
  selector: NodeSelector,
  { log, logPath }: Pick<EventLogChoice, 'log' | 'logPath'>,
): string =>
  [
    resumeCommand(selector),
    ...(log === 'embedded' ? ['--log embedded', ...optionText('--log-path', [logPath])] : []),
  ].join(' ');
