/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>

#include "cli/fields.h"
#include "cli/identify.h"

static const struct usage usage = {
	"[-t TRANSPORT] -a ADDR [-s PORT] -n NQN [OPTION]... | URI",
	"Prints what the ctrl of a subsystem says about itself (Identify Controller).",
	"$ nvof id-ctrl -t tcp -a 127.0.0.1 -s 4420 -n nqn.2026-11.org.example:nvof",
};

#define F(member, kind) FIELD(struct nvme_id_ctrl, member, FIELD_##kind)

/* clang-format off */
static const struct field fields[] = {
	F(vid, HEX),	   F(ssvid, HEX),    F(sn, TEXT),      F(mn, TEXT),	 F(fr, TEXT),	   F(rab, DEC),	     F(ieee, HEX),
	F(cmic, HEX),	   F(mdts, DEC),     F(cntlid, HEX),   F(ver, HEX),	 F(rtd3r, HEX),	   F(rtd3e, HEX),    F(oaes, HEX),
	F(ctratt, HEX),	   F(rrls, HEX),     F(cntrltype, DEC), F(crdt1, DEC),	 F(crdt2, DEC),	   F(crdt3, DEC),    F(nvmsr, DEC),
	F(vwci, DEC),	   F(mec, DEC),	     F(oacs, HEX),     F(acl, DEC),	 F(aerl, DEC),	   F(frmw, HEX),     F(lpa, HEX),
	F(elpe, DEC),	   F(npss, DEC),     F(avscc, HEX),    F(apsta, HEX),	 F(wctemp, DEC),   F(cctemp, DEC),   F(mtfa, DEC),
	F(hmpre, DEC),	   F(hmmin, DEC),    F(tnvmcap, DEC),  F(unvmcap, DEC),	 F(rpmbs, HEX),	   F(edstt, DEC),    F(dsto, DEC),
	F(fwug, DEC),	   F(kas, DEC),	     F(hctma, HEX),    F(mntmt, DEC),	 F(mxtmt, DEC),	   F(sanicap, HEX),  F(hmminds, DEC),
	F(hmmaxd, DEC),	   F(nsetidmax, DEC), F(endgidmax, DEC), F(anatt, DEC),	 F(anacap, DEC),   F(anagrpmax, DEC), F(nanagrpid, DEC),
	F(pels, DEC),	   F(domainid, DEC), F(megcap, DEC),   F(sqes, HEX),	 F(cqes, HEX),	   F(maxcmd, DEC),   F(nn, DEC),
	F(oncs, HEX),	   F(fuses, HEX),    F(fna, HEX),      F(vwc, HEX),	 F(awun, DEC),	   F(awupf, DEC),    F(icsvscc, DEC),
	F(nwpc, DEC),	   F(acwu, DEC),     F(ocfs, HEX),     F(sgls, HEX),	 F(mnan, DEC),	   F(maxdna, DEC),   F(maxcna, DEC),
	F(subnqn, TEXT),   F(ioccsz, DEC),   F(iorcsz, DEC),   F(icdoff, DEC),	 F(fcatt, DEC),	   F(msdbd, DEC),    F(ofcs, DEC),
	F(dctype, DEC),	   { 0 },
};
/* clang-format on */

static int id_ctrl(struct cli *cli, const struct identify_args *args)
{
	struct nvme_id_ctrl id;
	json_object *doc;
	struct conn c;
	int ret = conn_open(&c, &args->conn, CONN_ADMIN);

	if (!ret)
		ret = conn_status(&c, nvof_identify_sync(c.ctrl, NVME_IDENTIFY_CNS_CTRL, 0, &id), "Identify Controller");
	conn_close(&c);
	if (ret)
		return ret;
	if (args->raw) {
		fwrite(&id, sizeof(id), 1, stdout);
		return EXIT_OK;
	}
	if (!cli->json) {
		puts("NVME Identify Controller:");
		fields_print(fields, &id);
		return EXIT_OK;
	}
	doc = cli_json_new();
	fields_json(fields, &id, doc);
	return cli_json(cli, doc);
}

int cmd_id_ctrl(struct cli *cli, int argc, char **argv)
{
	return identify_run(cli, &usage, argc, argv, id_ctrl);
}
