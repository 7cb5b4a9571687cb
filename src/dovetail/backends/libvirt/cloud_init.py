"""The disk that cloud-init reads at a VM's first boot: an ISO 9660 image with the label `cidata` (NoCloud)."""

import io
import json

from dovetail.model.workloads.virtual_machine import CloudInit


def seed_image(key: str, hostname: str, given: CloudInit) -> bytes:
    import pycdlib  # only VMs with cloud-init need it

    files = {
        "meta-data": json.dumps({"instance-id": f"dovetail-{key}", "local-hostname": hostname}),
        "user-data": given.user_data,
    }
    if given.network_config is not None:
        files["network-config"] = given.network_config
    image = pycdlib.PyCdlib()
    image.new(interchange_level=3, joliet=3, rock_ridge="1.09", vol_ident="cidata")
    for number, (name, text) in enumerate(files.items()):
        content = text.encode()
        image.add_fp(io.BytesIO(content), len(content), f"/FILE{number}.;1", rr_name=name, joliet_path=f"/{name}")
    packed = io.BytesIO()
    image.write_fp(packed)
    image.close()
    return packed.getvalue()
