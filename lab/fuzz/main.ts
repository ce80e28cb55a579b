/**
 * Gives everything that reads what others wrote a great many changed inputs: `npm run fuzz -- --only inventory --runs 1000000`.
 * Ends with 1 where something was found, and with 2 for wrong options.
 */
import { campaign, tellTable } from './campaign.ts';
import { rememberVerified } from './engine/remember-verified.ts';
import { optionsIn } from './options.ts';
import { plantedCampaign } from './planted/find-planted.ts';

const say = (line: string): void => void process.stderr.write(`${line}\n`);

rememberVerified();
const options = optionsIn(process.argv.slice(2), say);
if (options === null) process.exitCode = 2;
else if (options.table) tellTable(options);
else if (options.planted) process.exitCode = (await plantedCampaign(say)) ? 0 : 1;
else process.exitCode = (await campaign(options, say)) ? 0 : 1;
