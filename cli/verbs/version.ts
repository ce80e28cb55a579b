import { z } from 'zod';
import { FROZEN_DECIDERS } from '../../packages/audit/deciders/deciders.ts';
import { PRODUCT_COMMIT, PRODUCT_VERSION } from '../../packages/process/product-version.ts';
import { outputOptions, printResult } from '../framework/output.ts';
import { versionLine } from '../framework/program.ts';
import { defineVerb } from '../framework/verb.ts';

export const verb = defineVerb({
  help: [
    'One line, which is that of "fleetgc --version". With -o json also the platform, and each decider of this release with the SHA-256 of its frozen bundle: two programs with the same hashes decide alike. The commit is missing where it is not known: it is known to a program that was built of sources that nobody had changed.',
  ],
  examples: ['fleetgc version', 'fleetgc version -o json'],
  options: z.object(outputOptions),
  run: async ({ output }, context) => {
    const { node } = process.versions;
    const value = {
      version: PRODUCT_VERSION,
      commit: PRODUCT_COMMIT,
      node,
      platform: `${process.platform}-${process.arch}`,
      deciders: FROZEN_DECIDERS,
    };
    await printResult(context, output, { value, lines: [versionLine(node)] });
  },
});
