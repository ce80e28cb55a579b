import { decider } from '../../services/functions/deciders/pressure.ts';
import { lambdaHandler } from './handler.ts';

/** What AWS Lambda calls. */
export const handler = lambdaHandler(decider);
