import { z } from 'zod';
import { FilePath, withMeta } from '../../../packages/process/options/options.ts';
import { writeKeyFile } from '../../../packages/trust/key-file.ts';
import { createKeyPair, keyIdOf } from '../../../packages/trust/key-pair.ts';
import { formatResult, outputOptions } from '../../framework/output.ts';
import { defineVerb } from '../../framework/verb.ts';

export const verb = defineVerb({
  help: [
    'The private key goes to a new file that only its user can read. The public key is printed: give it to whoever has a root, who certifies it for a role. Until then nobody believes what the key signs.',
  ],
  examples: ['fleetgc keys create decider.pem', 'fleetgc keys create root.pem --output json'],
  options: z.object({
    file: withMeta(FilePath, {
      positional: true,
      description: 'File for the private key, PKCS #8 PEM; it must not be there yet.',
    }),
    ...outputOptions,
  }),
  run: async ({ file, output }, { print, logger }) => {
    const { privateKeyPem, publicKey } = createKeyPair();
    writeKeyFile(file, privateKeyPem);
    const value = { keyId: keyIdOf(publicKey), publicKey, privateKeyFile: file };
    print(formatResult(output, { value, lines: [publicKey] }));
    logger.info(`The private key is in ${file}; it never has to leave this machine. Its id: ${value.keyId}`);
  },
});
