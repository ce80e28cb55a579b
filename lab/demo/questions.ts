import { shellWord } from '../../packages/text/shell-word.ts';
import { DEMO_CLUSTER } from './cluster/cluster-act.ts';
import type { RemovedImage } from './tally.ts';

interface Asked {
  readonly image: RemovedImage | null;
  /** The commands that approve what is held, as `fleetgc held` prints them; `null` where the second act was not played. */
  readonly approvals: readonly string[] | null;
}

/** What is worth asking first; each can be typed as it stands. */
export function questions(logPath: string, { image, approvals }: Asked): readonly string[] {
  const at = `--log embedded --log-path ${shellWord(logPath)}`;
  return [
    ...(image === null
      ? []
      : [`bin/fleetgc audit explain ${shellWord(image.name)} --node ${shellWord(image.node)} ${at}`]),
    `bin/fleetgc audit report ${at}`,
    `bin/fleetgc audit verify ${at}`,
    `bin/fleetgc nodes ${at}`,
    `bin/fleetgc policy show demo ${at}`,
    ...(approvals === null
      ? []
      : [
          `bin/fleetgc audit explain Secret/staging/web-tls --cluster ${DEMO_CLUSTER} ${at}`,
          `bin/fleetgc held ${at}`,
          ...approvals.map((command) => `bin/${command}`),
        ]),
  ];
}
