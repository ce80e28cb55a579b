import { z } from 'zod';
import { replaceFile } from '../../../packages/files/open-file.ts';
import { exportDocument } from '../../../packages/policy/policy-document.ts';
import { unsignedProblem } from '../../../packages/policy/unsigned-records.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { unreadableReason } from '../../../packages/process/options/named-file.ts';
import { FilePath, withMeta } from '../../../packages/process/options/options.ts';
import { systemSources } from '../../../packages/process/system-sources.ts';
import { createPublisher, serviceSource } from '../../../packages/records/publisher.ts';
import type { TrustChoice } from '../../../packages/records/trust/process-trust.ts';
import { signRecord } from '../../../packages/records/trust/signature.ts';
import { signerOf, UNSIGNED } from '../../../packages/records/trust/signer.ts';
import { policySetOutput } from '../../../packages/service/decision-writing.ts';
import { openPolicyWriter } from '../../framework/policy-writer.ts';
import { openTaskEventLog } from '../../framework/task-event-log.ts';
import { defineVerb } from '../../framework/verb.ts';
import { eventLogOptions } from '../../options/event-log-options.ts';
import { readOperatorTrust, signingOptions } from '../../options/trust-options.ts';

export const verb = defineVerb({
  help: [
    'Writes one document of all policies, pauses and approvals in force, and of what the roots said of keys, for functions that follow no topic ("fleetgc serve --policy"). Each record stands in it as it lies on the event log, with its signature. An operator’s key signs the whole with its time: nothing can be left out of it, and an older one does not pass for a newer one.',
    'It is good for as long as --policy-max-age of the function says. So export again after every change, and by a timer.',
    'It also tells gc.policy-versions what the sets of policies consist of, so that "audit verify" can prove what functions decide under them.',
  ],
  examples: [
    'fleetgc policy export --file policies.jsonl --kafka-brokers kafka:9092 --trust off',
    'fleetgc policy export --file policies.jsonl --kafka-brokers kafka:9092 --trust required --trust-roots roots.yaml --signing-key-file operator.pem',
  ],
  options: z.object({
    file: withMeta(FilePath.prefault('-'), {
      commandLineOnly: true,
      description: 'Where to write the document; - is stdout.',
    }),
    ...signingOptions,
    ...eventLogOptions('kafka'),
  }),
  run: async ({ file, ...given }, context) => {
    const { logger, write, signal } = context;
    const trust = await readOperatorTrust(given, signal);
    await using log = await openTaskEventLog({ options: given, context });
    // Throws where nobody would believe the key.
    await openPolicyWriter(log, trust, context);
    const { sign, signer, roots } = signingOf(trust);
    const nowMs = systemSources.now();
    const exported = await exportDocument(log, { roots, sign, nowMs }, signal);
    const publisher = createPublisher({
      log,
      source: serviceSource('cli'),
      now: systemSources.now,
      ids: systemSources.traceIds,
      signer,
    });
    const unsigned = unsignedProblem(exported.signatures);
    if (unsigned !== null) logger.warn(`${unsigned}.`);
    const { node, cluster } = exported.sets;
    await publisher.publish([policySetOutput(node), policySetOutput(cluster)]);
    if (file === '-') await write(exported.text);
    else writeWhole(file, exported.text);
    const { keys, policies } = exported;
    logger.info({ policies, keys, nodeSet: node.hash, clusterSet: cluster.hash }, 'exported');
  },
});

function signingOf(trust: TrustChoice) {
  if (trust.kind === 'off' || trust.signing === null)
    return {
      roots: null,
      signer: UNSIGNED,
      sign:
        () =>
        <Head>(head: Head) =>
          head,
    };
  const { roots, signing } = trust;
  const { fleet } = roots;
  const { key, role } = signing;
  return {
    roots,
    signer: signerOf({ fleet, role, key: () => key }),
    sign: (generation: number) => (head: Parameters<typeof signRecord>[0]) =>
      signRecord(head, { fleet, key, generation }),
  };
}

/**
 * Whoever reads it meanwhile finds the old one or the new one, whole, also where two export at once. Nothing is written behind a link
 * that somebody laid there. Throws `STATE_UNWRITABLE`.
 */
function writeWhole(path: string, text: string): void {
  try {
    replaceFile(path, text, READ_BY_FUNCTIONS);
  } catch (cause) {
    throw new FleetGcError('STATE_UNWRITABLE', `${path} cannot be written: ${unreadableReason(cause)}`, {
      cause,
    });
  }
}

/** They run as other users, and policies are no secret. */
const READ_BY_FUNCTIONS = 0o644;
