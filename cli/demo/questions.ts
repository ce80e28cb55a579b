import { shellWord } from '../../packages/text/shell-word.ts';
import { DEMO_CLUSTER, type Held } from './cluster/cluster-act.ts';
import type { RemovedImage } from './tally.ts';

interface Asked {
  readonly image: RemovedImage | null;
  readonly held: Held | null;
}

/** What is worth asking first; each can be typed as it stands. */
export function questions(logPath: string, { image, held }: Asked): readonly string[] {
  const at = `--log embedded --log-path ${shellWord(logPath)}`;
  return [
    ...(image === null
      ? []
      : [`bin/fleetgc audit explain ${shellWord(image.name)} --node ${shellWord(image.node)} ${at}`]),
    `bin/fleetgc audit report ${at}`,
    `bin/fleetgc audit verify ${at}`,
    `bin/fleetgc nodes ${at}`,
    `bin/fleetgc policy show demo ${at}`,
    ...(held === null
      ? []
      : [
          `bin/fleetgc audit explain Secret/staging/web-tls --cluster ${DEMO_CLUSTER} ${at}`,
          `bin/fleetgc held ${at}`,
          `bin/fleetgc approve ${DEMO_CLUSTER} ${held.ownerUid} --objects ${held.objects} ${at}`,
        ]),
  ];
}
